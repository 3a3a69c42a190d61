"""A sampler reads a GPU while a model runs: telemetry and energy come from it.

The entry point is called with the GPU's UUID or number, and raises `UnsupportedError` for a GPU
that it does not know. The built-in samplers are asked first. This sampler reads AMD's driver.
"""

from pathlib import Path

from enginescope.core.errors import UnsupportedError
from enginescope.probe.telemetry.sampler import Sample
from enginescope.records.run.telemetry import GpuProcess, SampledGpu

CARDS = Path("/sys/class/drm")


class AmdSampler:
    def __init__(self, address: str) -> None:
        self.device = CARDS / f"card{address}" / "device"
        if not (self.device / "gpu_busy_percent").is_file():
            raise UnsupportedError(f"GPU {address}", why="the driver amdgpu does not report it")
        self.gpu = SampledGpu(source="amdgpu", name=f"AMD GPU {address}")

    def value(self, pattern: str, factor: float = 1.0) -> float | None:
        file = next(self.device.glob(pattern), None)
        return float(file.read_text()) * factor if file else None

    def sample(self, pid: int) -> Sample:
        power = self.value("hwmon/*/power1_average", 1e-6)
        busy = self.value("gpu_busy_percent")
        return {"power_w": power, "gpu_utilization_pct": busy, **self.clock()}

    def clock(self) -> Sample:
        clock = self.value("hwmon/*/freq1_input", 1e-6)
        return {"sm_clock_mhz": clock, "temperature_c": self.value("hwmon/*/temp1_input", 1e-3)}

    def processes(self) -> tuple[GpuProcess, ...]:
        return ()

    def close(self) -> None:
        """Nothing to release."""
