"""Sources of GPU telemetry, and which of them opens a GPU."""

from typing import cast

from enginescope.core.errors import EnginescopeError, MissingDependencyError, UnsupportedError
from enginescope.core.plugins import Registry
from enginescope.probe.telemetry.sampler import Sampler

#: Functions that open a GPU, by its UUID or its number in CUDA's count. Jetson first: its NVML
#: knows the GPU and reports almost nothing.
SAMPLERS = Registry(
    "sampler",
    {
        "jetson": "enginescope.probe.telemetry.jetson:open_jetson",
        "nvml": "enginescope.probe.telemetry.nvml_sampler:open_nvml_sampler",
    },
)


def open_sampler(address: str) -> Sampler:
    """Return a sampler of a GPU from the first source that knows it.

    Args:
        address: Its UUID, or its number in CUDA's count.
    """
    reasons = []
    for name in SAMPLERS.names():
        try:
            return cast("Sampler", SAMPLERS.call(name, SAMPLERS.load(name), address))
        except MissingDependencyError:  # jetson-stats, on a machine that is not a Jetson
            continue
        except EnginescopeError as error:
            reasons.append(str(error))
    raise UnsupportedError(f"GPU {address} cannot be queried", why="; ".join(reasons))
