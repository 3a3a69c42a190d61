"""TensorRT for RTX: it builds on any machine, and runs on GPUs of some compute capabilities."""

from __future__ import annotations

from typing import Any

from enginescope.backends.tensorrt.cuda import DeviceFacts, Driver
from enginescope.backends.tensorrt.libraries import Libraries, load_cuda
from enginescope.core.errors import MissingDependencyError, UnsupportedError
from enginescope.formats.plan.engine_file import capability_numbers
from enginescope.probe.nvml import probe_devices

_BUILDS = "enginescope build MODEL --on trt-rtx builds here; run the engine on such a GPU"


def compute_capabilities(trt: Any) -> tuple[str, ...]:
    """Return the compute capabilities that this library can build for, such as ``"8.9"``."""
    numbers = sorted(
        int(name[2:]) for name in trt.ComputeCapability.__members__ if name[:2] == "SM"
    )
    return tuple(f"{number // 10}.{number % 10}" for number in numbers)


def is_served(trt: Any, capability: str | None) -> bool:
    """Whether the library runs engines on GPUs of a compute capability: listed, or newer.

    Args:
        capability: ``None``: there is no GPU.
    """
    listed = compute_capabilities(trt)
    if capability is None:
        return False
    return capability in listed or capability_numbers(capability) > capability_numbers(listed[-1])


def served_text(libraries: Libraries) -> str:
    """Return on what the library runs engines, as a clause."""
    listed = compute_capabilities(libraries.trt)
    return f"{libraries.title} runs on compute capability {', '.join(listed)} and newer"


def require_served_gpu(libraries: Libraries, device: int) -> None:
    """Raise unless the library runs engines on the GPU."""
    served = served_text(libraries)
    facts, why = _gpu(libraries, device)
    if facts is None:
        raise MissingDependencyError(
            "no NVIDIA GPU can be used here", why=f"{served}; {why}", hint=_BUILDS
        )
    if not is_served(libraries.trt, facts.compute_capability):
        raise MissingDependencyError(
            f"{facts.name} cannot run engines of TensorRT for RTX",
            why=f"{served}; this GPU has {facts.compute_capability}",
            hint=_BUILDS,
        )


def _gpu(libraries: Libraries, device: int) -> tuple[DeviceFacts | None, str]:
    """Return the GPU; or ``None`` and why there is none."""
    if libraries.cuda is None:
        if probe_devices():
            load_cuda("runtime")  # says how to get it
        return None, "this machine has no NVIDIA GPU"
    driver = Driver(libraries.cuda)
    try:
        count = driver.device_count()
    except UnsupportedError as error:
        return None, f"this machine: {error.why}"
    if device >= count:
        return None, f"this machine has no GPU {device}"
    return driver.facts(device), ""
