"""Sources of GPU telemetry, and which of them opens a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from enginescope.core.errors import EnginescopeError, MissingDependencyError, UnsupportedError
from enginescope.probe.telemetry.jetson import open_jetson
from enginescope.probe.telemetry.nvml_sampler import open_nvml_sampler
from enginescope.probe.telemetry.sampler import Sampler

OpenSampler: TypeAlias = Callable[[str], Sampler]
#: Jetson first: its NVML knows the GPU and reports almost nothing.
SOURCES: tuple[OpenSampler, ...] = (open_jetson, open_nvml_sampler)


def open_sampler(address: str) -> Sampler:
    """Return a sampler of a GPU from the first source that knows it.

    Args:
        address: Its UUID, or its number in CUDA's count.
    """
    reasons = []
    for source in SOURCES:
        try:
            return source(address)
        except MissingDependencyError:  # jetson-stats, on a machine that is not a Jetson
            continue
        except EnginescopeError as error:
            reasons.append(str(error))
    raise UnsupportedError(f"GPU {address} cannot be queried", why="; ".join(reasons))
