"""What of the fake is in this version's bindings: the rest is taken away."""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tensorrt._enums import ALL
from tensorrt._version import SURFACE

_ALIASES = {
    "float32": "FLOAT",
    "float16": "HALF",
    "bfloat16": "BF16",
    "int8": "INT8",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "bool": "BOOL",
    "fp8": "FP8",
    "int4": "INT4",
    "fp4": "FP4",
    "e8m0": "E8M0",
}


def kept(modules: tuple[ModuleType, ...]) -> dict[str, Any]:
    """Return classes and functions of this version by name, their members pruned."""
    defined = {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if getattr(one, "__module__", None) == module.__name__
    }
    there = {name: one for name, one in defined.items() if name in SURFACE.members}
    for name, cls in there.items():
        allowed = SURFACE.members[name]
        for base in cls.__mro__:
            if base.__module__.startswith("tensorrt."):
                _prune(base, allowed)
                _narrow(base, name)
    return there | {name: one for name, one in defined.items() if name in SURFACE.functions}


def _prune(cls: type, allowed: set[str]) -> None:
    for name in [one for one in vars(cls) if not one.startswith("_")]:
        if name not in allowed:
            delattr(cls, name)


def _narrow(cls: type, name: str) -> None:
    """Take parameters away that methods got in later versions."""
    for method, function in list(vars(cls).items()):
        names = SURFACE.parameters.get(f"{name}.{method}")
        if names is None or not inspect.isfunction(function):
            continue
        signature = inspect.signature(function)
        there = list(signature.parameters.values())
        if len(there) > len(names):
            setattr(
                cls, method, _limited(function, signature.replace(parameters=there[: len(names)]))
            )


def _limited(function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        bound = signature.bind(*arguments, **named)  # a TypeError, as pybind11's
        return function(*bound.args, **bound.kwargs)

    called.__signature__ = signature
    return called


def type_aliases() -> dict[str, Any]:
    """Return ``float16`` and the like, as far as the types are there."""
    types = ALL["DataType"]
    return {alias: getattr(types, name) for alias, name in _ALIASES.items() if hasattr(types, name)}
