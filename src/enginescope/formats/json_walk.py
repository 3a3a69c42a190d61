"""Finding lists inside foreign JSON whose nesting is not known."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

_MAX_DEPTH = 8


def lists_within(value: Any) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Yield every list that dictionaries lead to, outermost first.

    Lists are not looked into. A dictionary of nothing but dictionaries counts as the list of its
    values. With each come the key it stands under ("" for the root) and the dictionary it stands
    in.
    """
    queue: deque[tuple[int, str, dict[str, Any], Any]] = deque([(0, "", {}, value)])
    while queue:
        depth, key, parent, one = queue.popleft()
        if isinstance(one, list):
            yield key, parent, one
        elif isinstance(one, dict) and depth < _MAX_DEPTH:
            if one and all(isinstance(child, dict) for child in one.values()):
                yield key, parent, list(one.values())
            queue.extend((depth + 1, name, one, child) for name, child in one.items())


def finite_number(value: Any) -> float | None:
    """Return a JSON number as a float; ``None`` for anything else, booleans included."""
    if type(value) is float:
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return None
