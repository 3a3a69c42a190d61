"""A stand-in for ``cuda.bindings.runtime`` 13: same names, values and return conventions."""

from fake_device import (
    handles,
    names,
    runtime_device,
    runtime_events,
    runtime_memory,
    runtime_streams,
)

_MODULES = (handles, names, runtime_device, runtime_events, runtime_memory, runtime_streams)
_OFFERED = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if name.startswith("cuda")
}
__all__ = sorted(_OFFERED)  # noqa: PLE0605
globals().update(_OFFERED, **names.CONSTANTS)
