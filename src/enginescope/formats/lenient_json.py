"""Foreign JSON and text as it is found, not as it should be.

Strict first. Only what fails that is repaired, by small named steps, each of which leaves a notice;
what is damaged beyond repair is cut off after its last whole element.
"""

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.judge.notice import Notice

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decode_text(data: bytes, source: str) -> tuple[str, tuple[Notice, ...]]:
    """Return `data` as text: UTF-8, or UTF-16 where a byte-order mark says so.

    Bytes that are neither are replaced by U+FFFD, and a notice counts them. UTF-16 is what a
    redirection in PowerShell writes.
    """
    marked = (one for one in _MARKS if data.startswith(one[0]))
    mark, encoding = next(marked, (b"", "utf-8"))
    data = data.removeprefix(mark)
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        message = f"{source} has bytes that are not {encoding}; they were replaced"
        evidence = {"file": source, "first_byte": error.start, "count": text.count("\ufffd")}
        return text, (Notice("I-ENCODING", message, evidence),)


# A string as far as it goes: unterminated ones end with the text, so that a scan stays linear.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
_STRINGS = re.compile(_STRING, re.DOTALL)
_BACKSLASH = re.compile(r"\\")
_CONTROL = re.compile(r"[\x00-\x1f]")
# Those that are not blanks stand in strings, or the file is damaged in other ways too.
_NO_BLANK = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BAD_ESCAPE = re.compile(r'\\(?!\Z)(?:(u[0-9a-fA-F]{4}|["\\/bfnrt])|)')
_SURROGATE = re.compile(
    r"(\\\\)|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_NON_FINITE = re.compile(
    rf"{_STRING}|[-+]?\b(?:nan|inf(?:inity)?)\b(?:\([a-z0-9]*\))?"
    r"|-?\d[\d.]*[eE]\+?\d{3,}|-?\d{300,}[\d.]*(?:[eE][-+]?\d+)?",
    re.DOTALL | re.IGNORECASE,
)
# trtexec writes one record a line and does not escape the name.
_PROFILE_NAME = re.compile(r'^(\s*[,\[]?\s*\{ "name" : ")(.*)(", "timeMs" : )', re.MULTILINE)
_BYTE = re.compile(r"\(byte (\d+)\)")


class Document(Record, frozen=True, kw_only=True):
    """A JSON file as Python values.

    Attributes:
        source: The file, for messages.
        value: Dictionaries, lists, strings, numbers, booleans, ``None``; every number is finite.
        notices: One for each repair.
    """

    source: str
    value: Any
    notices: tuple[Notice, ...] = ()


def read_json(data: bytes, source: str) -> Document:
    """Return the values of a JSON file, repaired where that is possible."""
    try:
        return Document(source=source, value=_decode(data, source))
    except msgspec.DecodeError as error:
        return _cut_off(data, source) if "truncated" in str(error) else _repaired(data, source)
    except UnicodeDecodeError:
        return _repaired(data, source)


def _decode(data: bytes, source: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise FormatError(source, why="it is nested too deeply") from None


def _cut_off(data: bytes, source: str) -> Document:
    """What is whole of a file that ends too early; one with further faults is repaired first."""
    try:
        value = _whole_elements(data, len(data), source, "it ends too early")
    except FormatError:
        return _repaired(data, source)
    notice = _cut_notice(source, len(data), len(data))
    return Document(source=source, value=value, notices=(notice,))


def _repaired(data: bytes, source: str) -> Document:
    text, told = decode_text(data, source)
    for repairs in (_QUICK_REPAIRS, _REPAIRS):
        fixed, notices = _with_repairs(text, source, repairs)
        try:
            value = _decode(fixed, source)
            return Document(source=source, value=value, notices=(*told, *notices))
        except msgspec.DecodeError as error:
            failure = error
    value = _whole_elements(fixed, _offset(failure, fixed), source, str(failure))
    cut = _cut_notice(source, _offset(failure, fixed), len(fixed))
    return Document(source=source, value=value, notices=(*told, *notices, cut))


def _with_repairs(
    text: str, source: str, repairs: dict[str, Callable[[str], tuple[str, int]]]
) -> tuple[bytes, list[Notice]]:
    notices = []
    for name, repair in repairs.items():
        text, count = repair(text)
        if count:
            message = f"{source} is not valid JSON; repaired: {name} ({count})"
            evidence = {"file": source, "repair": name, "count": count}
            notices.append(Notice("I-JSON-REPAIRED", message, evidence))
    return text.encode("utf-8", errors="replace"), notices


def _whole_elements(data: bytes, end: int, source: str, why: str) -> Any:
    end -= "trailing" in why  # msgspec tells the byte after it
    line, rest = data.count(b"\n", 0, end) + 1, data[end:].lstrip(b" \t\r\n,")
    failure = FormatError(source, where=f"line {line}, byte {end}", why=why, expected="valid JSON")
    if "trailing" in why and rest[:1] in (b"{", b"["):
        why, expected = "a second JSON value begins there", "one JSON value"
        hint = "enginescope import reads each value as a run of its own"
        raise FormatError(source, where=f"byte {end}", why=why, expected=expected, hint=hint)
    kept = sound_part(data[:end].decode("utf-8", errors="ignore"))
    with suppress(msgspec.DecodeError):
        value = _decode(kept.encode(), source) if kept is not None else None
        if value:
            return value
    raise failure


def _offset(error: msgspec.DecodeError, data: bytes) -> int:
    match = _BYTE.search(str(error))
    return min(int(match[1]), len(data)) if match else len(data)


def _in_strings(
    change: Callable[[str], tuple[str, int]], needs: re.Pattern[str]
) -> Callable[[str], tuple[str, int]]:
    """Make a repair of what stands in strings; texts without `needs` are passed over."""

    def repair(text: str) -> tuple[str, int]:
        if needs.search(text) is None:
            return text, 0
        total = 0

        def one(match: re.Match[str]) -> str:
            nonlocal total
            changed, count = change(match[0])
            total += count
            return changed

        return _STRINGS.sub(one, text), total

    return repair


def _escaped(pattern: re.Pattern[str]) -> Callable[[str], tuple[str, int]]:
    return lambda text: pattern.subn(lambda match: f"\\u{ord(match[0]):04x}", text)


def _substituted(
    pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str
) -> tuple[str, int]:
    """Return a text with its matches changed, and how many became something else."""
    count = 0

    def one(match: re.Match[str]) -> str:
        nonlocal count
        changed = change(match)
        count += changed != match[0]
        return changed

    return pattern.sub(one, text), count


def _null_unless_finite(match: re.Match[str]) -> str:
    word = match[0]
    with suppress(ValueError):  # nan(ind), or digits that are no number at all
        if word[0] == '"' or math.isfinite(float(word)):
            return word
    return "null"


_double_backslashes = partial(
    _substituted, _BAD_ESCAPE, lambda match: match[0] if match[1] else "\\\\"
)
_replace_surrogates = partial(
    _substituted, _SURROGATE, lambda match: match[0] if match[1] or match[2] else "\\ufffd"
)
_escape_profile_names = partial(
    _substituted,
    _PROFILE_NAME,
    lambda match: match[1] + json.dumps(match[2], ensure_ascii=False)[1:-1] + match[3],
)
_UNESCAPED_NAMES = "layer names that were written unescaped"
_RAW_CONTROL = "raw control characters in strings"
# What TensorRT 8.6 writes in long plans, mended without a look at every string.
_QUICK_REPAIRS: dict[str, Callable[[str], tuple[str, int]]] = {
    _UNESCAPED_NAMES: _escape_profile_names,
    _RAW_CONTROL: _escaped(_NO_BLANK),
}
_REPAIRS: dict[str, Callable[[str], tuple[str, int]]] = {
    _UNESCAPED_NAMES: _escape_profile_names,
    "backslashes that escape nothing": _in_strings(_double_backslashes, _BACKSLASH),
    _RAW_CONTROL: _in_strings(_escaped(_CONTROL), _CONTROL),
    "halves of surrogate pairs": _in_strings(_replace_surrogates, _BACKSLASH),
    "numbers that are not finite, read as not known": partial(
        _substituted, _NON_FINITE, _null_unless_finite
    ),
}


def _cut_notice(source: str, end: int, size: int) -> Notice:
    message = f"{source} is cut off or damaged at byte {end:,}; enginescope uses the part before"
    return Notice("W-TRUNCATED", message, {"file": source, "byte": end, "size_bytes": size})


_MAX_DEPTH = 8
#: Numbers of a file stay below: no measurement has more, and sums stay finite.
LARGEST = 1e18
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


_WHOLE_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# A whole object without others inside is one token: most of a long file is such objects.
_FLAT = rf'\{{[^{{}}\[\]"]*(?:{_WHOLE_STRING}[^{{}}\[\]"]*)*\}}'
_UNTERMINATED = r'"[^"\\]*(?:\\.[^"\\]*)*\\?\Z'
_TOKENS = re.compile(rf"{_FLAT}|{_WHOLE_STRING}|{_UNTERMINATED}|[\[\]{{}},]", re.DOTALL)
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
    if not stack:
        return None
    depth = stack.index("[") if "[" in stack else 0
    return text[: safe[depth]] + "".join(_CLOSES[one] for one in reversed(stack[: depth + 1]))


def end_of_value(text: str, start: int) -> int | None:
    """Return where the array or object that begins at `start` ends; ``None``: not in `text`."""
    stack: list[str] = []
    for match in _TOKENS.finditer(text, start):
        mark = match[0]
        if mark in _CLOSES:
            stack.append(mark)
        elif mark in ("]", "}"):
            if not stack or _CLOSES[stack[-1]] != mark:
                return match.start()
            stack.pop()
        if not stack and mark[-1] in "]}":
            return match.end()
    return None
