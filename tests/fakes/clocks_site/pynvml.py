"""NVML's part about clocks and temperature, for several processes at once.

The GPUs are the JSON file that FAKE_GPUS names: ``{"gpus": {UUID: {…}}, "calls": […]}``. What one
process sets there is seen by all, and every call that changes something is noted with its process.
"""

# ruff: noqa: N802, N816 - the names are NVML's

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
NVML_TEMPERATURE_GPU = 0
NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NO_PERMISSION = 2, 3, 4
NVML_ERROR_NOT_FOUND = 6
NVML_CLOCK_LIMIT_ID_TDP = 0xFFFFFF01
nvmlClocksThrottleReasonApplicationsClocksSetting = 2
_TEXTS = {2: "Invalid Argument", 3: "Not Supported", 4: "Insufficient Permissions", 6: "Not Found"}


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return _TEXTS[self.value]


@contextmanager
def _state():
    with Path(os.environ["FAKE_GPUS"]).open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        state = json.load(file)
        yield state
        file.seek(0)
        file.truncate()
        json.dump(state, file)


def _known(handle: str, key: str):
    with _state() as state:
        value = state["gpus"][handle].get(key)
    if value is None:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return value


def _change(handle: str, call: str, key: str, value) -> None:
    with _state() as state:
        gpu = state["gpus"][handle]
        state["calls"].append([os.getpid(), call, handle, value])
        refusal = gpu.get("refuses", {}).get(call)
        if refusal is None:
            gpu[key] = value
    if refusal is not None:
        raise NVMLError(refusal)


def nvmlInit() -> None:
    if "FAKE_GPUS" not in os.environ:
        raise NVMLError(NVML_ERROR_NOT_FOUND)


def nvmlDeviceGetCount() -> int:
    with _state() as state:
        return len(state["gpus"])


def nvmlDeviceGetHandleByIndex(index: int) -> str:
    with _state() as state:
        return list(state["gpus"])[index]


def nvmlDeviceGetHandleByUUID(uuid: str) -> str:
    with _state() as state:
        if uuid not in state["gpus"]:
            raise NVMLError(NVML_ERROR_NOT_FOUND)
    return uuid


def nvmlDeviceGetMaxClockInfo(handle: str, clock: int) -> int:
    return _known(handle, "max_sm" if clock == NVML_CLOCK_SM else "max_memory")


def nvmlDeviceGetSupportedGraphicsClocks(handle: str, memory: int) -> list[int]:
    if memory not in _known(handle, "memory_clocks"):
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return _known(handle, "sm_clocks")


def nvmlDeviceGetTemperature(handle: str, sensor: int) -> int:
    """The next of ``temperatures``; the last stays."""
    with _state() as state:
        left = state["gpus"][handle].get("temperatures")
        if not left:
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        return left.pop(0) if len(left) > 1 else left[0]


def _getter(key: str):
    return lambda handle, *_: _known(handle, key)


def _setter(call: str, key: str):
    """Return a function that locks clocks to what it is given, or to nothing."""
    return lambda handle, *span: _change(handle, call, key, [*span] or None)


def _constant(value):
    return lambda *_: value


nvmlShutdown = _constant(None)
nvmlSystemGetDriverVersion = _constant("580.1")
nvmlDeviceGetUUID = str
nvmlDeviceGetName = _constant("Fake GPU")
nvmlDeviceGetCudaComputeCapability = _constant((9, 0))
nvmlDeviceGetMemoryInfo = _constant(SimpleNamespace(total=8 << 30))
nvmlDeviceGetComputeRunningProcesses = _constant(())
nvmlDeviceGetDefaultApplicationsClock = _getter("default_sm")
nvmlDeviceGetSupportedMemoryClocks = _getter("memory_clocks")
nvmlDeviceGetCurrentClocksThrottleReasons = _getter("reasons")
nvmlDeviceGetPersistenceMode = _getter("persistence")
nvmlDeviceSetGpuLockedClocks = _setter("lock_sm", "locked_sm")
nvmlDeviceResetGpuLockedClocks = _setter("reset_sm", "locked_sm")
nvmlDeviceSetMemoryLockedClocks = _setter("lock_memory", "locked_memory")
nvmlDeviceResetMemoryLockedClocks = _setter("reset_memory", "locked_memory")
