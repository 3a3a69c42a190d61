"""The one door to NVML (nvidia-ml-py). What a GPU does not report is ``None``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.core.errors import MissingDependencyError
from enginescope.core.optional import require
from enginescope.model.environment import Device


def probe_devices() -> tuple[Device, ...]:
    """Return the GPUs that NVML sees; empty where there is no driver or no nvidia-ml-py."""
    try:
        nvml = require("pynvml", purpose="reading GPU facts", install="enginescope[gpu]")
        nvml.nvmlInit()
    except MissingDependencyError:
        return ()
    except nvml.NVMLError:  # no driver, or no GPU
        return ()
    try:
        driver = _query(nvml, nvml.nvmlSystemGetDriverVersion)
        count = _query(nvml, nvml.nvmlDeviceGetCount) or 0
        found = (_device(nvml, index, driver) for index in range(count))
        return tuple(device for device in found if device is not None)
    finally:
        nvml.nvmlShutdown()


def _device(nvml: Any, index: int, driver: str | None) -> Device | None:
    handle = _query(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:  # lost, or not ours to see
        return None
    capability = _query(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _query(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return Device(
        name=_query(nvml, nvml.nvmlDeviceGetName, handle) or f"GPU {index}",
        uuid=_query(nvml, nvml.nvmlDeviceGetUUID, handle),
        compute_capability=".".join(map(str, capability)) if capability else None,
        memory_bytes=int(memory.total) if memory else None,
        driver=driver,
    )


def _query(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NVML answers, or ``None`` if this GPU or driver does not say."""
    try:
        value = function(*arguments)
    except nvml.NVMLError:
        return None
    return value.decode() if isinstance(value, bytes) else value
