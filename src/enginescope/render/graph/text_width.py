"""How wide text will be, before any font is known."""

from __future__ import annotations

import unicodedata

#: Widths that count double: full and wide ones, as of Chinese or Japanese.
_DOUBLE = frozenset("FW")
#: Before the first character that is not as wide as a letter.
_FIRST_SPECIAL = "\u0300"
_NONE = frozenset(("Mn", "Me", "Cf"))


def text_width(text: str, character: float) -> float:
    """Return an estimate in pixels, `character` being that of a usual one."""
    if not text or max(text) < _FIRST_SPECIAL:
        return len(text) * character
    return character * sum(map(_characters, text))


def _characters(one: str) -> int:
    if unicodedata.category(one) in _NONE:
        return 0
    return 2 if unicodedata.east_asian_width(one) in _DOUBLE else 1
