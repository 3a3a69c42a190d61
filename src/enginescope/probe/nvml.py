"""The one door to NVML (nvidia-ml-py). What a GPU does not report is ``None``."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from enginescope.core.errors import MissingDependencyError
from enginescope.core.optional import require
from enginescope.model.environment import Device


def probe_devices() -> tuple[Device, ...]:
    """Return the GPUs that NVML sees; empty where there is no driver or no nvidia-ml-py."""
    with _open() as nvml:
        if nvml is None:
            return ()
        driver = _query(nvml, nvml.nvmlSystemGetDriverVersion)
        count = _query(nvml, nvml.nvmlDeviceGetCount) or 0
        found = (_device(nvml, index, driver) for index in range(count))
        return tuple(device for device in found if device is not None)


def probe_device(index: int) -> Device | None:
    """Return the GPU that CUDA calls `index`; ``None`` if it cannot be told.

    CUDA numbers only what ``CUDA_VISIBLE_DEVICES`` lets it see.
    """
    devices = probe_devices()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        named = [one.strip() for one in visible.split(",") if one.strip()]
        devices = tuple(
            device
            for name in named
            for number, device in enumerate(devices)
            if name == str(number) or (device.uuid or "").startswith(name)
        )
    return devices[index] if 0 <= index < len(devices) else None


def process_memory_bytes(uuid: str | None, pid: int) -> int | None:
    """Return the device memory of a process; ``None`` where NVML does not see it.

    In a container NVML may list processes by the numbers of the host.
    """
    with _open() as nvml:
        if nvml is None or uuid is None:
            return None
        handle = _query(nvml, nvml.nvmlDeviceGetHandleByUUID, uuid)
        processes = _query(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        found = (one.usedGpuMemory for one in processes if one.pid == pid)
        used = next(found, None)
        return int(used) if used else None


class PeakDeviceMemory:
    """Highest device memory of this process between ``with`` and its end, sampled.

    Attributes
    ----------
    bytes : int or None
        ``None`` where NVML does not see the process.
    """

    INTERVAL_S = 0.1

    def __init__(self, device: int) -> None:
        self.bytes: int | None = None
        known = probe_device(device)
        self._uuid = known.uuid if known else None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakDeviceMemory:
        """Start sampling."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            used = process_memory_bytes(self._uuid, os.getpid())
            if used is None:
                return
            self.bytes = max(used, self.bytes or 0)
            if self._stop.wait(self.INTERVAL_S):
                return


@contextmanager
def _open() -> Iterator[Any]:
    """NVML, started; ``None`` where there is no driver or no nvidia-ml-py."""
    try:
        nvml = require("pynvml", purpose="reading GPU facts", install="enginescope[gpu]")
        nvml.nvmlInit()
    except MissingDependencyError:
        yield None
        return
    except nvml.NVMLError:  # no driver, or no GPU
        yield None
        return
    try:
        yield nvml
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
        max_sm_clock_mhz=_query(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        max_memory_clock_mhz=_query(
            nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM
        ),
    )


def _query(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NVML answers, or ``None`` if this GPU or driver does not say."""
    try:
        value = function(*arguments)
    except nvml.NVMLError:
        return None
    return value.decode() if isinstance(value, bytes) else value
