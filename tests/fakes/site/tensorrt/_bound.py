"""How classes behave that pybind11 binds: strict arguments, strict attributes."""

from typing import Any

from tensorrt._version import NUMBERS

_MODULE = "tensorrt.tensorrt" if NUMBERS < (10,) else "tensorrt_bindings.tensorrt"


class Bound:
    """An object of the library: attributes that the class has not cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        ours = type(self).__module__.startswith("tensorrt")
        if ours and not name.startswith("_") and not hasattr(type(self), name):
            shown = f"{_MODULE}.{type(self).__name__}"
            raise AttributeError(f"{shown!r} object has no attribute {name!r}")
        object.__setattr__(self, name, value)


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


def setting(
    name: str, kinds: Any, default: Any, accepts: Any = None, limit: Any = lambda value: value
) -> property:
    """Return a property that checks its type; its value lies in `_values`.

    Args:
        accepts: Whether TensorRT takes a value; it logs an error and keeps the old one if not.
        limit: What TensorRT makes of a value without a word.
    """

    def get(self: Any) -> Any:
        return self._values.get(name, default)

    def put(self: Any, value: Any) -> None:
        need(name, (value, kinds))
        if accepts is not None and not accepts(value):
            self._say("ERROR", f"3: [builderConfig.cpp] Error Code 3: API Usage Error ({name})")
            return
        self._values[name] = limit(value)

    return property(get, put)
