"""Numbers and names as a page carries them: short, and quick to read."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

_TYPES = {"u1": "<u1", "u4": "<u4", "i4": "<i4", "f4": "<f4"}
# A large plan's data is an eighth of its size then; higher levels take long for little.
_LEVEL = 4


def packed(code: str, values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return numbers as an array that `container` takes.

    Args:
        values: ``None`` is NaN, where the type has it.
    """
    array = np.asarray(values, dtype=np.float32 if code == "f4" else None)
    return np.ascontiguousarray(array.astype(_TYPES[code]))


def container(value: Any) -> str:
    """Return nested dicts and lists with arrays in them as base64.

    Deflated: the length of the JSON in 4 bytes, the JSON padded to a multiple of 4, then the
    arrays' bytes, each padded likewise. In the JSON an array is ``{"$": "u4", "at": 0, "n": 12}``,
    `at` counting from the end of the JSON.
    """
    parts: list[bytes] = []
    length = 0

    def reference(array: np.ndarray) -> dict[str, Any]:
        nonlocal length
        data = array.tobytes()
        found = {"$": array.dtype.str[1:], "at": length, "n": array.size}
        parts.append(data + b"\0" * (-len(data) % 4))
        length += len(parts[-1])
        return found

    text = msgspec.json.encode(value, enc_hook=reference)
    text += b" " * (-len(text) % 4)
    whole = b"".join((len(text).to_bytes(4, "little"), text, *parts))
    return base64.b64encode(zlib.compress(whole, _LEVEL)).decode("ascii")


class StringTable:
    """Each string once, found by its number; 0 is the empty one."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {"": 0}

    def number(self, text: str | None) -> int:
        """Return the number of `text`, which is added if it is new; 0 for ``None``."""
        if not text:
            return 0
        return self._number.setdefault(text, len(self._number))

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Return `number` of each."""
        found = self._number
        return [found.setdefault(text, len(found)) if text else 0 for text in texts]

    @property
    def strings(self) -> list[str]:
        """Every string, in the order of the numbers.

        What no file can hold, lone surrogates, is ``?``.
        """
        return [one.encode("utf-8", "replace").decode("utf-8") for one in self._number]
