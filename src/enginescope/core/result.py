"""How the result of a public function prints."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

_WIDTH = 100
_LINES = 3
_LONGEST_TEXT = 60


class Result:
    """Base of what public functions return: prints in at most three lines of 100 columns.

    A class that lists this base directly is public, and its subclasses print under its name. A
    subclass overrides `_summary` to print a sentence in place of its fields.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Return ``<NAME SUMMARY>``, cut to what fits."""
        from textwrap import wrap

        name = next(base.__name__ for base in type(self).__mro__ if Result in base.__bases__)
        text = f"<{name} {self._summary()}"
        lines = wrap(text, _WIDTH - 1, max_lines=_LINES, placeholder=" …", break_on_hyphens=False)
        return "\n".join(lines) + ">"

    def _summary(self) -> str:
        """Return plain fields as ``name=value``, and the number of items of collections."""
        fields: Any = getattr(self, "__struct_fields__", None)
        if fields is None:
            fields = getattr(self, "__dataclass_fields__", ())
        parts = (_field(name, getattr(self, name)) for name in fields)
        return ", ".join(part for part in parts if part)


def _field(name: str, value: Any) -> str | None:
    if isinstance(value, bool | int | float | str | Path):
        text = repr(str(value) if isinstance(value, Path) else value)
        middle = _LONGEST_TEXT // 2
        is_long = len(text) > _LONGEST_TEXT
        return f"{name}={f'{text[:middle]}…{text[-middle + 1 :]}' if is_long else text}"
    if isinstance(value, Enum):
        return f"{name}={value.value}"
    if isinstance(value, tuple | list | dict) and value:
        return f"{len(value):,} {name}"
    return None
