"""A GPU, or a MIG instance, through NVML."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from enginescope.core.errors import UnsupportedError
from enginescope.probe.nvml import answer_of, handle_of, opened_nvml
from enginescope.probe.processes import process_name
from enginescope.probe.telemetry.sampler import Sample
from enginescope.records.run import telemetry as channel
from enginescope.records.run.telemetry import GpuProcess, SampledGpu

#: NVML's name of a reason, behind ``nvmlClocksEventReason`` or ``nvmlClocksThrottleReason``.
_REASONS = {
    "gpu_idle": "GpuIdle",
    "clocks_setting": "ApplicationsClocksSetting",
    "sw_power_cap": "SwPowerCap",
    "hw_slowdown": "HwSlowdown",
    "sync_boost": "SyncBoost",
    "sw_thermal": "SwThermalSlowdown",
    "hw_thermal": "HwThermalSlowdown",
    "hw_power_brake": "HwPowerBrakeSlowdown",
    "display_clocks": "DisplayClockSetting",
}


def open_nvml_sampler(address: str) -> NvmlSampler:
    """Return the sampler of a GPU."""
    with ExitStack() as opened:
        nvml = opened.enter_context(opened_nvml())
        if nvml is None:
            raise UnsupportedError("NVML", why="no NVIDIA driver, or no nvidia-ml-py")
        handle = handle_of(nvml, address)
        if handle is None:
            raise UnsupportedError("NVML", why=f"it has no GPU {address}")
        return NvmlSampler(nvml, handle, opened.pop_all())
    raise AssertionError  # the block above leaves by a return or an error


class NvmlSampler:
    """Asks NVML; what it refuses is ``None``.

    Of a MIG instance NVML tells memory and processes. Clocks, temperature and throttle reasons are
    those of the GPU it is a part of; power, energy and utilization would be those of all instances
    together, so they stay ``None``.
    """

    def __init__(self, nvml: Any, handle: Any, opened: ExitStack) -> None:
        self._nvml, self._opened, self._handle = nvml, opened, handle
        is_mig = self._ask("nvmlDeviceIsMigDeviceHandle")  # a number, or an object of ctypes
        self._is_mig = bool(getattr(is_mig, "value", is_mig))
        whole = self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle") if self._is_mig else None
        self._whole = handle if whole is None else whole
        self._bits = tuple(
            (bit, throttle_reason.bit)
            for throttle_reason in channel.THROTTLE_REASONS
            if (bit := _reason_bit(nvml, _REASONS[throttle_reason.name]))
        )
        self.gpu = self._facts()

    def sample(self, pid: int) -> Sample:
        energy = None if self._is_mig else self._ask("nvmlDeviceGetTotalEnergyConsumption")
        average, instant = (None, None) if self._is_mig else self._powers_mw()
        used = None if self._is_mig else self._ask("nvmlDeviceGetUtilizationRates")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        return {
            channel.ENERGY: _number(energy),
            channel.POWER: _number(average, 1e-3),
            channel.POWER_INSTANT: _number(instant, 1e-3),
            channel.UTILIZATION: _number(used.gpu) if used is not None else None,
            channel.MEMORY_UTILIZATION: _number(used.memory) if used is not None else None,
            channel.DEVICE_MEMORY: _number(memory.used) if memory is not None else None,
            channel.PROCESS_MEMORY: self._memory_of(pid),
            channel.MEMORY_CLOCK: self._clock("NVML_CLOCK_MEM"),
            **self.clock(),
        }

    def clock(self) -> Sample:
        degrees = self._ask_whole("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU")
        return {
            channel.TEMPERATURE: _number(degrees),
            channel.SM_CLOCK: self._clock("NVML_CLOCK_SM"),
            channel.THROTTLE: self._throttle(),
        }

    def processes(self) -> tuple[GpuProcess, ...]:
        return tuple(
            GpuProcess(
                pid=int(one.pid),
                name=process_name(int(one.pid)) or self._name_of(int(one.pid)),
                memory_bytes=int(one.usedGpuMemory) if one.usedGpuMemory else None,
            )
            for one in self._ask("nvmlDeviceGetComputeRunningProcesses") or ()
        )

    def close(self) -> None:
        self._opened.close()

    def _facts(self) -> SampledGpu:
        limit_mw = None if self._is_mig else self._ask("nvmlDeviceGetEnforcedPowerLimit")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        return SampledGpu(
            source="nvml",
            name=str(self._ask("nvmlDeviceGetName") or "GPU"),
            uuid=self._ask("nvmlDeviceGetUUID"),
            is_mig=self._is_mig,
            max_sm_clock_mhz=self._ask_whole("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM"),
            power_limit_w=limit_mw / 1e3 if limit_mw else None,
            memory_bytes=int(memory.total) if memory is not None else None,
            power_is_instant=None if self._is_mig else self._power_is_instant(),
        )

    def _power_is_instant(self) -> bool | None:
        """Whether ``nvmlDeviceGetPowerUsage`` is of the moment: up to GA100, as documented."""
        if self._field("NVML_FI_DEV_POWER_AVERAGE") is not None:
            return False
        capability = self._ask("nvmlDeviceGetCudaComputeCapability")
        return None if capability is None else tuple(capability) <= (8, 0)

    def _powers_mw(self) -> tuple[int | None, int | None]:
        """Return power, averaged and of the moment, as far as they are told apart."""
        average = self._field("NVML_FI_DEV_POWER_AVERAGE")
        if average is None:
            average = self._ask("nvmlDeviceGetPowerUsage")
        return average, self._field("NVML_FI_DEV_POWER_INSTANT")

    def _field(self, name: str) -> int | None:
        number = getattr(self._nvml, name, None)
        if number is None or not hasattr(self._nvml, "nvmlDeviceGetFieldValues"):
            return None
        values = answer_of(self._nvml, self._nvml.nvmlDeviceGetFieldValues, self._handle, [number])
        if values is None or values[0].nvmlReturn != 0:
            return None
        return int(values[0].value.uiVal)

    def _clock(self, which: str) -> float | None:
        return _number(self._ask_whole("nvmlDeviceGetClockInfo", which))

    def _throttle(self) -> float | None:
        bits = self._ask_whole("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # its name before driver 535
            bits = self._ask_whole("nvmlDeviceGetCurrentClocksThrottleReasons")
        if bits is None:
            return None
        return float(sum(ours for theirs, ours in self._bits if bits & theirs))

    def _memory_of(self, pid: int) -> float | None:
        listed = self._ask("nvmlDeviceGetComputeRunningProcesses") or ()
        used = [one.usedGpuMemory for one in listed if one.pid == pid]
        return float(used[0]) if used and used[0] else None

    def _name_of(self, pid: int) -> str | None:
        if not hasattr(self._nvml, "nvmlSystemGetProcessName"):
            return None
        name = answer_of(self._nvml, self._nvml.nvmlSystemGetProcessName, pid)
        return str(name) if name else None

    def _ask(self, function: str) -> Any:
        found = getattr(self._nvml, function, None)
        return None if found is None else answer_of(self._nvml, found, self._handle)

    def _ask_whole(self, function: str, *names: str) -> Any:
        """Ask the GPU itself, also of an instance; `names` are those of NVML's constants."""
        found = getattr(self._nvml, function, None)
        constants = [getattr(self._nvml, name, None) for name in names]
        if found is None or None in constants:
            return None
        return answer_of(self._nvml, found, self._whole, *constants)


def _reason_bit(nvml: Any, name: str) -> int | None:
    names = (f"nvmlClocks{kind}Reason{name}" for kind in ("Event", "Throttle"))
    return next((int(getattr(nvml, one)) for one in names if hasattr(nvml, one)), None)


def _number(value: Any, factor: float = 1.0) -> float | None:
    return None if value is None else float(value) * factor
