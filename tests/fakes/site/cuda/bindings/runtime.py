"""A stand-in for ``cuda.bindings.runtime`` 13: same names, values and return conventions."""

from fake_device import handles, runtime

_OFFERED = {
    name: value
    for module in (handles, runtime)
    for name, value in vars(module).items()
    if name.startswith("cuda")
}
__all__ = list(_OFFERED)
globals().update(_OFFERED, **handles.CONSTANTS)
