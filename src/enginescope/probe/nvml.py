"""The one door to NVML (nvidia-ml-py). What a GPU does not report is ``None``.

Which GPU CUDA means by a number, asked of the driver itself.
How warm GPUs are.
"""

from __future__ import annotations

import ctypes
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from enginescope.core.errors import MissingDependencyError
from enginescope.core.optional import require
from enginescope.core.periodic_thread import PeriodicThread
from enginescope.probe.clock import holding_of
from enginescope.records.environment import Device

_LIBRARY = "libcuda.so.1"


def cuda_uuid(index: int, driver: Any = None) -> str | None:
    """Return the UUID of the GPU, or MIG instance, that CUDA calls `index` in this process.

    CUDA numbers GPUs by speed and ``CUDA_VISIBLE_DEVICES``, NVML by their slots: only the UUID is
    the same in both. NVML writes ``GPU-`` or ``MIG-`` before it.

    Args:
        driver: In the place of ``libcuda``.

    Returns:
        ``None`` where there is no driver or no such GPU. It takes no memory of the GPU.
    """
    try:
        cuda = driver or ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    device = ctypes.c_int()
    raw = (ctypes.c_ubyte * 16)()
    # the first version names the whole GPU, where an instance of it is meant
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or getattr(cuda, "cuDeviceGetUuid", None)
    if ask is None or cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), index):
        return None
    return None if ask(ctypes.byref(raw), device) else str(uuid.UUID(bytes=bytes(raw)))


def probe_devices() -> tuple[Device, ...]:
    """Return the GPUs that NVML sees; empty where there is no driver or no nvidia-ml-py."""
    with opened_nvml() as nvml:
        if nvml is None:
            return ()
        driver = answer_of(nvml, nvml.nvmlSystemGetDriverVersion)
        return tuple(
            _device(nvml, handle, driver, index) for index, handle in _handles(nvml).items()
        )


def _handles(nvml: Any) -> dict[int, Any]:
    """Return the GPUs by number, without those that are lost, or not ours to see."""
    count = answer_of(nvml, nvml.nvmlDeviceGetCount) or 0
    asked = {at: answer_of(nvml, nvml.nvmlDeviceGetHandleByIndex, at) for at in range(count)}
    return {at: handle for at, handle in asked.items() if handle is not None}


def probe_device(index: int) -> Device | None:
    """Return the GPU that CUDA calls `index`; ``None`` if unknown.

    By the UUID that CUDA has for it. Where CUDA does not say, by ``CUDA_VISIBLE_DEVICES``, which
    holds if CUDA numbers GPUs as NVML does.
    """
    with opened_nvml() as nvml:
        handle = None if nvml is None else _by_uuid(nvml, cuda_uuid(index))
        if handle is not None:
            return _device(nvml, handle, answer_of(nvml, nvml.nvmlSystemGetDriverVersion))
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


def handle_of(nvml: Any, address: str) -> Any:
    """Return NVML's handle of a GPU or MIG instance; ``None`` if unknown.

    Args:
        address: Its UUID, or its number in CUDA's count.
    """
    if not address.isdecimal():
        return _by_uuid(nvml, address)
    device = probe_device(int(address))
    return _by_uuid(nvml, device.uuid) if device else None


def _by_uuid(nvml: Any, uuid: str | None) -> Any:
    """Return the handle with a UUID, which may lack what NVML writes before it."""
    if uuid is None:
        return None
    prefixes = ("",) if uuid.startswith(("GPU-", "MIG-")) else ("GPU-", "MIG-")
    asked = (
        answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, f"{prefix}{uuid}") for prefix in prefixes
    )
    return next((one for one in asked if one is not None), None)


def process_memory_bytes(uuid: str | None, pid: int) -> int | None:
    """Return the device memory of a process; ``None`` where NVML does not see it.

    In a container NVML may list processes by the numbers of the host.
    """
    with opened_nvml() as nvml:
        if nvml is None or uuid is None:
            return None
        handle = answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, uuid)
        processes = answer_of(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
        found = (process.usedGpuMemory for process in processes if process.pid == pid)
        used = next(found, None)
        return int(used) if used else None


def computing_pids() -> frozenset[int]:
    """Return the processes that compute on any GPU, as NVML numbers them."""
    with opened_nvml() as nvml:
        if nvml is None:
            return frozenset()
        listed = (
            answer_of(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
            for handle in _handles(nvml).values()
        )
        return frozenset(int(one.pid) for some in listed for one in some)


class PeakDeviceMemory:
    """Highest device memory of this process between ``with`` and its end, sampled.

    Args:
        device: Its number in CUDA's count.

    Attributes:
        bytes: ``None`` where NVML does not see the process.
    """

    def __init__(self, device: int, interval_s: float = 0.1) -> None:
        self.bytes: int | None = None
        known = probe_device(device)
        self._uuid = known.uuid if known else None
        self._nvml = ExitStack()
        self._looks = PeriodicThread(self._look, interval_s)

    def __enter__(self) -> PeakDeviceMemory:
        if self._uuid is not None:
            self._nvml.enter_context(opened_nvml())  # each look costs a call, no start of NVML
            self._looks.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._looks.stop()
        self._nvml.close()

    def _look(self) -> None:
        used = process_memory_bytes(self._uuid, os.getpid())
        if used is not None:  # a process is not listed before it has a context
            self.bytes = max(used, self.bytes or 0)


@contextmanager
def opened_nvml() -> Iterator[Any]:
    """NVML, started; ``None`` where there is no driver or no nvidia-ml-py."""
    try:
        nvml = require("pynvml", purpose="reading GPU facts", install="enginescope[gpu]")
    except MissingDependencyError:
        yield None
        return
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:  # no driver, or no GPU
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _device(nvml: Any, handle: Any, driver: str | None, index: int | None = None) -> Device:
    capability = answer_of(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = answer_of(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    uuid = answer_of(nvml, nvml.nvmlDeviceGetUUID, handle)
    holding = holding_of(uuid) if uuid else None
    return Device(
        name=answer_of(nvml, nvml.nvmlDeviceGetName, handle)
        or ("GPU" if index is None else f"GPU {index}"),
        uuid=uuid,
        compute_capability=".".join(map(str, capability)) if capability else None,
        memory_bytes=int(memory.total) if memory else None,
        driver=driver,
        max_sm_clock_mhz=answer_of(
            nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM
        ),
        max_memory_clock_mhz=answer_of(
            nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM
        ),
        clock_lock=holding.lock if holding else None,
    )


def answer_of(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NVML answers, or ``None`` if this GPU or driver does not say."""
    try:
        value = function(*arguments)
    except nvml.NVMLError:
        return None
    return value.decode() if isinstance(value, bytes) else value


def gpu_temperature_c(gpu: str) -> float | None:
    """Return a GPU's temperature in degrees Celsius, by its UUID; ``None`` if it does not tell."""
    with opened_nvml() as nvml:
        if nvml is None:
            return None
        handle = answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, gpu)
        if handle is None:
            return None
        found = answer_of(nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU)
        return None if found is None else float(found)
