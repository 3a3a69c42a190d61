"""Finding lists inside foreign JSON whose nesting is not known.

The whole elements at the beginning of a broken JSON text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

_MAX_DEPTH = 8
#: Numbers of a file stay below: no measurement has more, and sums stay finite.
LARGEST = 1e15
#: Whole numbers of a file stay below: 64 bits with a sign.
MAX_INT = 2**63


def lists_within(value: Any) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Yield every list that dictionaries lead to, outermost first.

    Lists are not looked into. A dictionary of dictionaries with the same keys counts as the list
    of its values. With each come the key it stands under ("" for the root) and the dictionary it
    stands in.
    """
    queue: deque[tuple[int, str, dict[str, Any], Any]] = deque([(0, "", {}, value)])
    while queue:
        depth, key, parent, one = queue.popleft()
        if isinstance(one, list):
            yield key, parent, one
        elif isinstance(one, dict) and depth < _MAX_DEPTH:
            if _is_table(one):
                yield key, parent, list(one.values())
            queue.extend((depth + 1, name, one, child) for name, child in one.items())


def _is_table(value: dict[str, Any]) -> bool:
    rows = list(value.values())
    if len(rows) < 2 or not isinstance(rows[0], dict):
        return False
    return all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows)


def finite_number(value: Any) -> float | None:
    """Return a JSON number as a float.

    ``None`` for anything else, booleans included, and for sizes that no measurement has, so that
    sums and other units stay finite.
    """
    if type(value) not in (int, float) or not abs(value) < LARGEST:
        return None
    return float(value)


def whole_number(value: Any) -> int | None:
    """Return `value` if it is an integer that fits 64 bits, else ``None``."""
    return value if type(value) is int and abs(value) < MAX_INT else None


_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# A whole object without others inside is one token: most of a long file is such objects.
_FLAT = rf'\{{[^{{}}\[\]"]*(?:{_STRING}[^{{}}\[\]"]*)*\}}'
_UNTERMINATED = r'"[^"\\]*(?:\\.[^"\\]*)*\\?\Z'
_TOKENS = re.compile(rf"{_FLAT}|{_STRING}|{_UNTERMINATED}|[\[\]{{}},]", re.DOTALL)
_CLOSES = {"[": "]", "{": "}"}


def sound_part(text: str) -> str | None:
    """Return valid JSON with what is whole in `text`, or ``None`` if no array or object began.

    Cut after the last whole element of the outermost array that is still open, so that no half
    element passes for a whole one; where no array is open, after the last whole pair of the root
    object.
    """
    stack: list[str] = []
    safe: list[int] = []  # per open container: where its last whole element ends
    for match in _TOKENS.finditer(text):
        mark = match[0]
        if mark in _CLOSES:
            stack.append(mark)
            safe.append(match.end())
        elif mark in ("]", "}"):
            if not stack or _CLOSES[stack[-1]] != mark:
                break
            stack.pop()
            safe.pop()
            if not stack:
                return text[: match.end()]
        elif not stack and mark.endswith("}"):
            return text[: match.end()]
        elif mark == "," and stack:
            safe[-1] = match.start()
    return _closed(text, stack, safe)


def _closed(text: str, stack: list[str], safe: list[int]) -> str | None:
    if not stack:
        return None
    depth = stack.index("[") if "[" in stack else 0
    return text[: safe[depth]] + "".join(_CLOSES[one] for one in reversed(stack[: depth + 1]))
