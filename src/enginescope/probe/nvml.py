"""The one door to NVML (nvidia-ml-py): facts of GPUs, temperature, and locked clocks."""

from __future__ import annotations

import ctypes
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.optional import require
from enginescope.core.process_control import PeriodicThread
from enginescope.probe.clock import holding_of
from enginescope.records.environment import ClockLock, Device


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
        cuda = driver or ctypes.CDLL("libcuda.so.1")
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
        used = next((process.usedGpuMemory for process in processes if process.pid == pid), None)
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
    fastest = partial(answer_of, nvml, nvml.nvmlDeviceGetMaxClockInfo, handle)
    return Device(
        name=answer_of(nvml, nvml.nvmlDeviceGetName, handle)
        or ("GPU" if index is None else f"GPU {index}"),
        uuid=uuid,
        compute_capability=".".join(map(str, capability)) if capability else None,
        memory_bytes=int(memory.total) if memory else None,
        driver=driver,
        max_sm_clock_mhz=fastest(nvml.NVML_CLOCK_SM),
        max_memory_clock_mhz=fastest(nvml.NVML_CLOCK_MEM),
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
        handle = nvml and answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, gpu)
        sensor = nvml and nvml.NVML_TEMPERATURE_GPU
        found = handle and answer_of(nvml, nvml.nvmlDeviceGetTemperature, handle, sensor)
        return None if found is None else float(found)


#: A clock in MHz, or by name: ``base`` can be held whatever runs, ``max`` is the highest there is.
SmClock: TypeAlias = int | Literal["base", "max"]

_OPTION = "`clock`"


def planned_lock(gpu: str, sm: SmClock) -> ClockLock:
    """Return what a GPU's clocks would be locked to; nothing is changed."""
    with _gpu(gpu) as (nvml, handle):
        memory = max(answer_of(nvml, nvml.nvmlDeviceGetSupportedMemoryClocks, handle) or (0,))
        supported = answer_of(nvml, nvml.nvmlDeviceGetSupportedGraphicsClocks, handle, memory)
        known = sorted(set(supported or ()))
        return ClockLock(sm_mhz=_sm_mhz(nvml, handle, sm, known), memory_mhz=memory or None)


def lock_clocks(gpu: str, wanted: ClockLock) -> ClockLock:
    """Hold a GPU's clocks at `wanted`; return what they are held at.

    Raises:
        UsageError: Not allowed, or the GPU refuses; its clocks are then as they were.
    """
    with _gpu(gpu) as (nvml, handle):
        base = nvml.NVML_CLOCK_LIMIT_ID_TDP
        mhz = base if wanted.sm_mhz is None else wanted.sm_mhz
        try:
            nvml.nvmlDeviceSetGpuLockedClocks(handle, mhz, mhz)
        except nvml.NVMLError as error:
            raise _refused(nvml, error, gpu, wanted) from None
        if wanted.memory_mhz is None:
            return wanted
        try:
            nvml.nvmlDeviceSetMemoryLockedClocks(handle, wanted.memory_mhz, wanted.memory_mhz)
        except nvml.NVMLError:  # before Ampere, and on many boards, it cannot be locked
            return ClockLock(sm_mhz=wanted.sm_mhz)
        return wanted


def reset_clocks(gpu: str, lock: ClockLock) -> str | None:
    """Set a GPU's clocks free; return why that failed, or ``None``."""
    try:
        with _gpu(gpu) as (nvml, handle):
            try:
                nvml.nvmlDeviceResetGpuLockedClocks(handle)
                if lock.memory_mhz is not None:
                    nvml.nvmlDeviceResetMemoryLockedClocks(handle)
            except nvml.NVMLError as error:
                return str(error)
    except UsageError as error:  # the driver is gone, or the GPU
        return str(error)
    return None


def is_limited_by_setting(gpu: str) -> bool | None:
    """Whether the driver says that a setting, not heat or power, limits a GPU's clocks now."""
    with _gpu(gpu) as (nvml, handle):
        reasons = answer_of(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        if reasons is None:
            return None
        return bool(reasons & nvml.nvmlClocksThrottleReasonApplicationsClocksSetting)


def persistence_enabled(gpu: str) -> bool | None:
    """Whether the driver stays loaded for a GPU that nothing uses; ``None``: not told."""
    with opened_nvml() as nvml:
        handle = nvml and answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, gpu)
        mode = handle and answer_of(nvml, nvml.nvmlDeviceGetPersistenceMode, handle)
        return None if mode is None else bool(mode)


def lock_command(gpu: str, lock: ClockLock) -> str:
    """Return the command lines that do by hand what `lock_clocks` does."""
    mhz = "MHZ" if lock.sm_mhz is None else lock.sm_mhz
    smi = f"sudo nvidia-smi -i {gpu}"
    lines = [f"{smi} -lgc {mhz},{mhz}"]
    if lock.memory_mhz is not None:
        lines.append(f"{smi} -lmc {lock.memory_mhz},{lock.memory_mhz}")
    where = "  (MHZ: nvidia-smi base-clocks)" if lock.sm_mhz is None else ""
    return " && ".join(lines) + where


def reset_command(gpu: str, lock: ClockLock) -> str:
    """Return the command lines that do by hand what `reset_clocks` does."""
    smi = f"sudo nvidia-smi -i {gpu}"
    return f"{smi} -rgc" if lock.memory_mhz is None else f"{smi} -rgc && {smi} -rmc"


def clocks_text(clocks: Sequence[int]) -> str:
    """Return clocks as ``210 … 1,980 MHz in steps of 15``; one by one where steps differ."""
    steps = {b - a for a, b in pairwise(clocks)}
    if len(steps) == 1 and len(clocks) > 3:
        return f"{clocks[0]:,} … {clocks[-1]:,} MHz in steps of {steps.pop()}"
    return ", ".join(f"{clock:,}" for clock in clocks) + " MHz"


@contextmanager
def _gpu(gpu: str) -> Iterator[tuple[Any, Any]]:
    with opened_nvml() as nvml:
        if nvml is None:
            why = "no NVIDIA driver, or nvidia-ml-py is not installed"
            raise UsageError(_OPTION, why=why, hint="pip install 'enginescope[gpu]'")
        handle = answer_of(nvml, nvml.nvmlDeviceGetHandleByUUID, gpu)
        if handle is None:
            raise UsageError(_OPTION, why=f"NVML does not find GPU {gpu}")
        yield nvml, handle


def _sm_mhz(nvml: Any, handle: Any, sm: SmClock, known: Sequence[int]) -> int | None:
    highest = answer_of(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM)
    if sm == "max":
        found = known[-1] if known else highest
        if found is None:
            raise UsageError(f"{_OPTION} max", why="the GPU does not name its highest clock")
        return int(found)
    if sm == "base":
        default = answer_of(
            nvml, nvml.nvmlDeviceGetDefaultApplicationsClock, handle, nvml.NVML_CLOCK_SM
        )
        # newer GPUs give their highest clock as the default, which no load can hold
        is_below = default is not None and highest is not None and default < highest
        return int(default) if is_below else None
    if known and sm not in known:
        near = sorted(known, key=lambda one: abs(one - sm))[:2]
        hint = f"{' or '.join(map(str, sorted(near)))}; supported: {clocks_text(known)}"
        raise UsageError(f"{_OPTION} {sm}", why=f"the GPU has no SM clock of {sm:,} MHz", hint=hint)
    return sm


def _refused(nvml: Any, error: Any, gpu: str, wanted: ClockLock) -> UsageError:
    by_hand = f"{lock_command(gpu, wanted)}; afterwards {reset_command(gpu, wanted)}"
    if error.value == nvml.NVML_ERROR_NO_PERMISSION:
        what = f"{_OPTION}: not allowed to set the clocks of GPU {gpu}"
        why = "NVML needs root for it (in a container also the capability SYS_ADMIN)"
        return UsageError(what, why=why, hint=f"as root, or by hand: {by_hand}")
    if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
        why = "the GPU or its driver cannot lock them (Volta and newer can; a MIG slice cannot)"
    elif wanted.sm_mhz is None:
        why = f"the driver does not accept its base clock by name ({error})"
    else:
        why = str(error)
    hint = "`clock` MHZ (nvidia-smi base-clocks)" if wanted.sm_mhz is None else None
    return UsageError(f"{_OPTION}: the clocks of GPU {gpu} cannot be set", why=why, hint=hint)
