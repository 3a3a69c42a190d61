# ruff: noqa: N802, N816 - the names of the module it stands in for
"""A stand-in for ``pynvml``, module and all: on PYTHONPATH it is what every process finds.

``FAKE_NVML`` names the scenario. Power follows the processor time of the process that is watched,
so that a busy loop draws more than a pause; the energy counter is its integral, told in steps of
20 ms as drivers do.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import psutil

NVML_SUCCESS = 0
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_GPU_IS_LOST = 15
NVML_CLOCK_SM = 1
NVML_CLOCK_MEM = 2
NVML_TEMPERATURE_GPU = 0
NVML_FI_DEV_POWER_AVERAGE = 185
NVML_FI_DEV_POWER_INSTANT = 186
nvmlClocksEventReasonGpuIdle = 1
nvmlClocksEventReasonApplicationsClocksSetting = 2
nvmlClocksEventReasonSwPowerCap = 4
nvmlClocksThrottleReasonHwSlowdown = 8
nvmlClocksEventReasonSyncBoost = 16
nvmlClocksEventReasonSwThermalSlowdown = 32
nvmlClocksThrottleReasonHwThermalSlowdown = 64
nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 128
nvmlClocksEventReasonDisplayClockSetting = 256

STEP_S = 0.02
UUIDS = ("GPU-11111111-1111-1111-1111-111111111111", "GPU-22222222-2222-2222-2222-222222222222")
MIG_UUID = "MIG-33333333-3333-3333-3333-333333333333"
MIB = 1 << 20


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


@dataclass
class Gpu:
    """One GPU, or an instance of one."""

    name: str
    uuid: str
    idle_w: float = 70.0
    load_w: float = 430.0
    capability: tuple[int, int] = (9, 0)
    memory: int = 143_771 * MIB
    sm_mhz: int = 1980
    refused: frozenset[str] = frozenset()
    reasons: int = 0
    slows_to_mhz: int | None = None
    lost_after_s: float | None = None
    foreign: tuple[int, ...] = ()
    whole: Gpu | None = None
    told_j: float = 100_000.0
    watts: float = 70.0
    last: tuple[float, float] | None = None
    born: float = field(default_factory=time.monotonic)
    readings: int = 0

    def answers(self, what: str) -> Gpu:
        if self.lost_after_s is not None and time.monotonic() - self.born > self.lost_after_s:
            raise NVMLError(NVML_ERROR_GPU_IS_LOST)
        if what in self.refused or "everything" in self.refused:
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        return self

    def advance(self) -> Gpu:
        """Draw power since the last reading, as the watched process worked."""
        now, spent = time.monotonic(), sum(psutil.Process(watched()).cpu_times()[:2])
        before, spent_before = self.last or (now, spent)
        elapsed = now - before
        if elapsed >= STEP_S:
            busy = min(1.0, (spent - spent_before) / elapsed)
            self.watts = self.idle_w + (self.load_w - self.idle_w) * busy
            self.told_j += self.watts * elapsed
        if elapsed >= STEP_S or self.last is None:
            self.last = (now, spent)
        return self


def watched() -> int:
    """The process whose work heats the GPU: the sampling process is not the one that measures."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    sampling = spec is not None and spec.name == "enginescope.probe.telemetry.worker"
    return os.getppid() if sampling else os.getpid()


def scenario(name: str) -> list[Gpu]:
    h200 = {"name": "NVIDIA H200", "uuid": UUIDS[0]}
    whole, consumer = Gpu(**h200), frozenset({"energy", "fields"})
    instance = {"name": "NVIDIA H200 MIG 1g.18gb", "uuid": MIG_UUID, "memory": 16_384 * MIB}
    return {
        "none": [],
        "h200": [whole],
        "consumer": [Gpu("NVIDIA GeForce RTX 2060", UUIDS[0], capability=(7, 5), refused=consumer)],
        "refusing": [Gpu(**h200, refused=frozenset({"everything"}))],
        "two": [Gpu("NVIDIA T400", UUIDS[1], idle_w=5, load_w=31), whole],
        "lost": [Gpu(**h200, lost_after_s=1.0)],
        "throttling": [Gpu(**h200, reasons=nvmlClocksEventReasonSwPowerCap, slows_to_mhz=1500)],
        "foreign": [Gpu(**h200, foreign=(1,))],
        "mig": [whole, Gpu(**instance, refused=consumer | {"power", "utilization"}, whole=whole)],
    }[name]


GPUS = scenario(os.environ.get("FAKE_NVML", "h200"))


def nvmlInit() -> None:
    if os.environ.get("FAKE_NVML") == "none":
        raise NVMLError(12)


def nvmlShutdown() -> None: ...


def nvmlSystemGetDriverVersion() -> str:
    return "580.82.07"


def nvmlDeviceGetCount() -> int:
    return sum(one.whole is None for one in GPUS)


def nvmlDeviceGetHandleByUUID(uuid: str) -> Gpu:
    found = [one for one in GPUS if one.uuid == uuid]
    if not found:
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return found[0]


def nvmlDeviceIsMigDeviceHandle(gpu: Gpu) -> SimpleNamespace:
    return SimpleNamespace(value=int(gpu.whole is not None))


nvmlDeviceGetHandleByIndex = GPUS.__getitem__
nvmlDeviceGetDeviceHandleFromMigDeviceHandle = attrgetter("whole")
nvmlDeviceGetName = attrgetter("name")
nvmlDeviceGetUUID = attrgetter("uuid")
nvmlDeviceGetCudaComputeCapability = attrgetter("capability")


def nvmlDeviceGetMaxClockInfo(gpu: Gpu, which: int) -> int:
    return {NVML_CLOCK_SM: gpu.sm_mhz, NVML_CLOCK_MEM: 3201}[which]


def nvmlDeviceGetClockInfo(gpu: Gpu, which: int) -> int:
    gpu.answers("clock")
    if which == NVML_CLOCK_MEM:
        return 3201
    gpu.readings += 1
    return gpu.slows_to_mhz if (gpu.slows_to_mhz is not None and gpu.readings > 1) else gpu.sm_mhz


def nvmlDeviceGetUtilizationRates(gpu: Gpu) -> SimpleNamespace:
    gpu.answers("utilization").advance()
    span = gpu.load_w - gpu.idle_w
    return SimpleNamespace(gpu=round(100 * (gpu.watts - gpu.idle_w) / span), memory=12)


def _telling(what: str, tell: Callable[[Gpu], Any]) -> Callable[..., Any]:
    """Return a function of NVML that tells what a GPU answers."""
    return lambda gpu, *_: tell(gpu.answers(what))


nvmlDeviceGetMemoryInfo = _telling(
    "memory",
    lambda gpu: SimpleNamespace(total=gpu.memory, used=1_200 * MIB, free=gpu.memory - 1_200 * MIB),
)
nvmlDeviceGetCurrentClocksEventReasons = _telling("reasons", attrgetter("reasons"))
nvmlDeviceGetTemperature = _telling("temperature", lambda _: 41)
nvmlDeviceGetEnforcedPowerLimit = _telling("limit", lambda _: 700_000)
nvmlDeviceGetPowerUsage = _telling("power", lambda gpu: round(1e3 * gpu.advance().watts))
nvmlDeviceGetTotalEnergyConsumption = _telling(
    "energy", lambda gpu: round(1e3 * gpu.advance().told_j)
)
nvmlSystemGetProcessName = "process-{}".format


def nvmlDeviceGetFieldValues(gpu: Gpu, fields: list[int]) -> list[SimpleNamespace]:
    gpu.answers("fields").advance()
    value = SimpleNamespace(uiVal=round(1e3 * gpu.watts))
    return [SimpleNamespace(fieldId=one, nvmlReturn=NVML_SUCCESS, value=value) for one in fields]


def nvmlDeviceGetComputeRunningProcesses(gpu: Gpu) -> list[SimpleNamespace]:
    gpu.answers("processes")
    ours = SimpleNamespace(pid=watched(), usedGpuMemory=512 * MIB)
    others = [SimpleNamespace(pid=pid, usedGpuMemory=2_048 * MIB) for pid in gpu.foreign]
    return [ours, *others]
