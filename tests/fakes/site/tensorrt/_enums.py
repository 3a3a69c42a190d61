"""Enumerations as pybind11 binds them, with the members and values of the version."""

from __future__ import annotations

from typing import Any, ClassVar

from tensorrt._version import MAJOR, SURFACE

#: Values that neither list tells; only the network's flags matter, whose renumbering is a trap.
_VALUES: dict[str, dict[int, dict[str, int]]] = {
    "NetworkDefinitionCreationFlag": {
        10: {
            "EXPLICIT_BATCH": 0,
            "STRONGLY_TYPED": 1,
            "PREFER_JIT_PYTHON_PLUGINS": 2,
            "PREFER_AOT_PYTHON_PLUGINS": 3,
        },
        11: {"STRONGLY_TYPED": 0, "PREFER_JIT_PYTHON_PLUGINS": 1, "PREFER_AOT_PYTHON_PLUGINS": 2},
    }
}


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


def recorded(name: str) -> type[Enum] | None:
    """Return an enumeration as this version has it; ``None`` if it has none of that name."""
    members = SURFACE.enums.get(name)
    if members is None:
        return None
    known = _VALUES.get(name, {}).get(MAJOR, {})
    numbered = {
        one: known.get(one, at) if value is None else value
        for at, (one, value) in enumerate(members.items())
    }
    return enum(name, numbered)


ALL: dict[str, type[Enum]] = {name: recorded(name) for name in SURFACE.enums}
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
