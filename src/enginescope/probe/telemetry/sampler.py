"""What is asked of a GPU, whoever answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from enginescope.core.errors import EnginescopeError, MissingDependencyError, UnsupportedError
from enginescope.model.gpu_telemetry import GpuProcess, SampledGpu

#: Channel -> value; ``None`` for what this GPU, or this driver, does not report.
Sample: TypeAlias = Mapping[str, "float | None"]


class Sampler(Protocol):
    """A GPU that can be asked how it is.

    One file, one line in `open_sampler`.
    """

    @property
    def gpu(self) -> SampledGpu:
        """Which it is, and what does not change."""

    def sample(self, pid: int) -> Sample:
        """Return every channel; the energy counter is read first, right after the call.

        Parameters
        ----------
        pid : int
            The process whose memory on the GPU is asked for.
        """

    def clock(self) -> Sample:
        """Return SM clock and throttle reasons alone: cheap enough between two stretches."""

    def processes(self) -> tuple[GpuProcess, ...]:
        """Return who computes on it; empty where it does not say."""

    def close(self) -> None:
        """Let go of it."""


OpenSampler: TypeAlias = Callable[[str], Sampler]


def open_sampler(address: str) -> Sampler:
    """Return a sampler of a GPU from the first source that knows it.

    Parameters
    ----------
    address : str
        Its UUID, or its number in CUDA's count.

    Raises
    ------
    UnsupportedError
        None of the sources can be asked, or none knows the GPU; says why for each.
    """
    from enginescope.probe.telemetry.jetson import open_jetson
    from enginescope.probe.telemetry.nvml_sampler import open_nvml_sampler

    # NVML of a Jetson knows its GPU and tells next to nothing of it
    sources: tuple[OpenSampler, ...] = (open_jetson, open_nvml_sampler)
    said = []
    for source in sources:
        try:
            return source(address)
        except MissingDependencyError:  # jetson-stats, on a machine that is no Jetson
            continue
        except EnginescopeError as error:
            said.append(str(error))
    raise UnsupportedError(f"GPU {address} cannot be asked", why="; ".join(said))
