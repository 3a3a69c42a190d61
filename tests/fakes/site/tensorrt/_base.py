"""What the library's objects have in common: version, enumerations, strict arguments, values."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import recorded_symbols

NAME = os.environ.get("FAKE_TENSORRT", "10.16.1")
if NAME not in recorded_symbols.VERSIONS:
    raise ImportError(f"FAKE_TENSORRT={NAME}: {', '.join(recorded_symbols.VERSIONS)}")
#: As ``__version__`` of the real bindings.
FULL = {
    "8.6.0": "8.6.0",
    "10.16.1": "10.16.1.11",
    "11.4.0": "11.4.0.106",
    "rtx-1.7.1": "1.7.1.116",
}[NAME]
NUMBERS = tuple(int(one) for one in FULL.split("."))
IS_RTX = NAME.startswith("rtx")
#: TensorRT for RTX has the API of TensorRT 11.
MAJOR = 11 if IS_RTX else NUMBERS[0]
#: What a plan is stamped with, and what a runtime reads; only the first is the real number.
SERIALIZATION = {8: 236, 10: 241, 11: 244}[MAJOR]
SURFACE = recorded_symbols.surface(NAME)


class Enum:
    """A member; equal to members of its own enumeration only, and no number without ``int()``."""

    __members__: ClassVar[dict[str, Enum]] = {}

    def __init__(self, value: int) -> None:
        self._value = int(value)

    value = property(lambda self: self._value)

    @property
    def name(self) -> str:
        names = (name for name, one in self.__members__.items() if one._value == self._value)
        return next(names, "???")  # of names with one value, the first

    def __int__(self) -> int:
        return self._value

    def __index__(self) -> int:
        return self._value

    def __hash__(self) -> int:
        return self._value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._value == self._value

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{Enum.name.fget(self)}: {self._value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{Enum.name.fget(self)}"


def enum(name: str, members: dict[str, int]) -> type[Enum]:
    cls = type(name, (Enum,), {})
    cls.__members__ = {one: cls(value) for one, value in members.items()}
    for one, member in cls.__members__.items():
        setattr(cls, one, member)
    return cls


#: Enumerations as this version has them; members of unknown value are counted from 0.
ALL: dict[str, type[Enum]] = {
    name: enum(name, {one: at if v is None else v for at, (one, v) in enumerate(known.items())})
    for name, known in SURFACE.enums.items()
}
Severity = enum(
    "Severity", {"INTERNAL_ERROR": 0, "ERROR": 1, "WARNING": 2, "INFO": 3, "VERBOSE": 4}
)
if MAJOR == 8:
    # there the name of a parser's error code is a method, and tells the class too
    def _name(self: Enum) -> str:
        return str(self)

    ALL["ErrorCode"].name = _name


def number(cls: Any, name: str) -> int | None:
    """Return a member's value; ``None`` if this version has it not."""
    found = getattr(cls, name, None)
    return None if found is None else int(found)


_MODULE = "tensorrt.tensorrt" if NUMBERS < (10,) else "tensorrt_bindings.tensorrt"


class Bound:
    """An object of the library: attributes that the class has not cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        ours = type(self).__module__.startswith("tensorrt")
        if ours and not name.startswith("_") and not hasattr(type(self), name):
            shown = f"{_MODULE}.{type(self).__name__}"
            raise AttributeError(f"{shown!r} object has no attribute {name!r}")
        object.__setattr__(self, name, value)

    def _say(self, severity: str, text: str) -> None:
        self._logger.log(getattr(Severity, severity), text)

    def _error(self, text: str) -> None:
        self._say("ERROR", text)

    def _out_of_memory(self, place: str, warning: str | None = None) -> None:
        allocator = "defaultAllocator.cpp::allocate::19"
        self._error(f"1: [{allocator}] Error Code 1: Cuda Runtime (out of memory)")
        if warning is not None:
            self._say("WARNING", warning)
        self._error(f"2: [{place}] Error Code 2: OutOfMemory (no further information)")


class Made(Bound):
    """An object that only the library makes."""

    def __init__(self) -> None:
        raise TypeError(f"{_MODULE}.{type(self).__name__}: No constructor defined!")


class Subclassable:
    """A class for the user to derive from, whose ``__init__`` must be called."""

    def __init__(self) -> None:
        object.__setattr__(self, "_initialised", True)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        inner = cls.__init__

        def checked(self: Any, *arguments: Any, **named: Any) -> None:
            inner(self, *arguments, **named)
            if not getattr(self, "_initialised", False):
                base = next(one for one in cls.__mro__ if one.__module__.startswith("tensorrt"))
                raise TypeError(
                    f"{_MODULE}.{base.__name__}.__init__() must be called when overriding __init__"
                )

        cls.__init__ = checked


def need(method: str, *pairs: tuple[Any, Any]) -> None:
    """Refuse arguments of other types, as pybind11 does; pairs of a value and its types."""
    for value, kinds in pairs:
        accepted = kinds if isinstance(kinds, tuple) else (kinds,)
        if isinstance(value, bool) and bool not in accepted and int not in accepted:
            accepted = ()
        if not isinstance(value, accepted):
            raise TypeError(
                f"{method}(): incompatible function arguments. The following argument types are "
                f"supported: {', '.join(one.__name__ for one in accepted)}\n\n"
                f"Invoked with: {value!r}"
            )


def buffer_of(method: str, value: Any) -> bytes:
    """Return the bytes of an object with the buffer protocol, and refuse others."""
    try:
        return memoryview(value).cast("B").tobytes()
    except TypeError:
        need(method, (value, bytes))
        raise


class Setting(property):
    """A property that checks its type; its value lies in `_values` of its owner.

    Args:
        accepts: Whether TensorRT takes a value; it logs an error and keeps the old one if not.
        limit: What TensorRT makes of a value without a word.
    """

    def __init__(
        self, kinds: Any, default: Any, accepts: Any = lambda _: True, limit: Any = lambda one: one
    ) -> None:
        def put(owner: Any, value: Any) -> None:
            need(self._name, (value, kinds))
            if accepts(value):
                owner._values[self._name] = limit(value)
            else:
                why = f"3: [builderConfig.cpp] Error Code 3: API Usage Error ({self._name})"
                owner._error(why)

        super().__init__(lambda owner: owner._values.get(self._name, default), put)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name


DataType = ALL["DataType"]
_BITS = {"FLOAT": 32, "HALF": 16, "INT8": 8, "INT32": 32, "BOOL": 8, "UINT8": 8, "FP8": 8}
_BITS |= {"BF16": 16, "INT64": 64, "INT4": 4, "FP4": 4, "E8M0": 8}
#: What the fake itself computes with; sub-byte types it holds unpacked nowhere.
_NUMPY: dict[str, Any] = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "INT8": np.int8,
    "INT32": np.int32,
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "INT64": np.int64,
}
if find_spec("ml_dtypes"):  # comes with newer onnx
    import ml_dtypes

    _NUMPY |= {"BF16": ml_dtypes.bfloat16, "FP8": ml_dtypes.float8_e4m3fn}


def numpy_type(dtype: Any) -> Any:
    """Return NumPy's type, with the help of ml_dtypes."""
    return np.dtype(_NUMPY[dtype.name])


DataType.itemsize = property(lambda self: _BITS[self.name] / 8)


def volume(iterable: Any) -> int:
    return math.prod(iterable)


class Dims(Bound):
    """Dimensions: a sequence that compares with tuples and lists, and with nothing else."""

    def __init__(self, shape: Any = ()) -> None:
        self._shape = list(dims_of("Dims", shape))

    def __len__(self) -> int:
        return len(self._shape)

    def __getitem__(self, index: Any) -> Any:
        try:
            found = self._shape[index]
        except IndexError:
            raise IndexError("Out of bounds") from None
        return tuple(found) if isinstance(index, slice) else found

    def __eq__(self, other: object) -> bool:
        need("__eq__", (other, (list, tuple)))
        return list(other) == self._shape

    __hash__ = None

    def __repr__(self) -> str:
        return repr(tuple(self._shape))


def dims_of(method: str, shape: Any) -> tuple[int, ...]:
    """Return a shape that is given as `Dims`, tuple or list, and refuse others."""
    need(method, (shape, (Dims, tuple, list)))
    values = tuple(shape)
    need(method, *((one, (int, np.integer)) for one in values))
    return tuple(int(one) for one in values)


class IHostMemory(bytearray):
    """Bytes that the library owns: to be read through the buffer protocol only."""

    nbytes = property(lambda self: memoryview(self).nbytes)

    def __len__(self) -> int:
        raise TypeError("object of type 'tensorrt.tensorrt.IHostMemory' has no len()")

    def __iter__(self) -> Any:
        raise TypeError("'tensorrt.tensorrt.IHostMemory' object is not iterable")

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("'tensorrt.tensorrt.IHostMemory' object is not subscriptable")

    def __bool__(self) -> bool:
        return True


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
