"""What is asked of a GPU, whoever answers."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from enginescope.records.run.telemetry import GpuProcess, SampledGpu

#: Channel -> value; ``None`` for what this GPU, or this driver, does not report.
Sample: TypeAlias = Mapping[str, "float | None"]


class Sampler(Protocol):
    """A GPU that can be asked how it is.

    Each is one file, and one line in `sampler_sources` or an entry point.
    """

    @property
    def gpu(self) -> SampledGpu:
        """Which it is, and what does not change."""

    def sample(self, pid: int) -> Sample:
        """Return every channel; the energy counter is read first, right after the call.

        Args:
            pid: The process whose memory on the GPU is asked for.
        """

    def clock(self) -> Sample:
        """Return SM clock, throttle reasons and temperature: cheap enough between two stretches."""

    def processes(self) -> tuple[GpuProcess, ...]:
        """Return who computes on it; empty where it does not say."""

    def close(self) -> None:
        """Let go of it."""
