"""The whole elements at the beginning of a broken JSON text."""

from __future__ import annotations

import re

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
