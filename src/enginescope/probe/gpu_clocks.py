"""Setting and resetting a GPU's locked clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from enginescope.core.errors import UsageError
from enginescope.probe.nvml import answer_of, opened_nvml
from enginescope.records.environment import ClockLock

#: A clock in MHz, or by name: ``base`` can be held whatever runs, ``max`` is the highest there is.
SmClock: TypeAlias = int | Literal["base", "max"]

_OPTION = "--lock-clocks"


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
            raise UsageError(
                _OPTION,
                why="no NVIDIA driver, or nvidia-ml-py is not installed",
                hint="pip install 'enginescope[gpu]'",
            )
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
        raise UsageError(
            f"{_OPTION} {sm}",
            why=f"the GPU has no SM clock of {sm:,} MHz",
            hint=f"{' or '.join(map(str, sorted(near)))}; supported: {clocks_text(known)}",
        )
    return sm


def _refused(nvml: Any, error: Any, gpu: str, wanted: ClockLock) -> UsageError:
    by_hand = f"{lock_command(gpu, wanted)}; afterwards {reset_command(gpu, wanted)}"
    if error.value == nvml.NVML_ERROR_NO_PERMISSION:
        return UsageError(
            f"{_OPTION}: not allowed to set the clocks of GPU {gpu}",
            why="NVML needs root for it (in a container also the capability SYS_ADMIN)",
            hint=f"as root, or by hand: {by_hand}",
        )
    if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
        why = "the GPU or its driver cannot lock them (Volta and newer can; a MIG slice cannot)"
    elif wanted.sm_mhz is None:
        why = f"the driver does not accept its base clock by name ({error})"
    else:
        why = str(error)
    hint = "--lock-clocks MHZ (nvidia-smi base-clocks)" if wanted.sm_mhz is None else None
    return UsageError(f"{_OPTION}: the clocks of GPU {gpu} cannot be set", why=why, hint=hint)
