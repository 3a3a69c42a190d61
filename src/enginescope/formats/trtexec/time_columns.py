"""Lists of times in foreign JSON, as columns in milliseconds; units that field names end in."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document, finite_number, lists_within
from enginescope.judge.samples import Array

_MS_PER = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_WORDS = {
    word: unit
    for unit, words in {
        "ns": "ns nsec nanosecond nanoseconds",
        "us": "us µs usec microsecond microseconds",
        "ms": "ms msec millisecond milliseconds",
        "s": "s sec secs second seconds",
    }.items()
    for word in words.split()
}
_TAIL = re.compile(r"^(.*?)(?:[\s_\-.]*[(\[]\s*([A-Za-zµ]+)\s*[)\]]|[\s_\-.]+([A-Za-zµ]+))$")
# Longest first; a lower-case tail without a separator ("times") is part of the word.
_CAMEL = re.compile(
    r"^(.*[a-z0-9])(Milliseconds|Microseconds|Nanoseconds|Seconds|Msec|Usec|Nsec|Secs|Sec|Ms|Us|Ns|S)$"
)
_SEPARATORS = re.compile(r"[^a-z0-9]")


def unit_ms(word: str) -> float | None:
    """Return the milliseconds in one of the unit `word`, or ``None`` for other units."""
    unit = _WORDS.get(word.strip().lower())
    return _MS_PER[unit] if unit else None


def split_unit(key: str) -> tuple[str, float | None]:
    """Return a field's name without its unit, and the milliseconds in one of that unit.

    The name comes back in lower case without separators. The factor is ``None`` where the name
    has no unit; nothing is guessed.

    >>> split_unit("startComputeMs"), split_unit("wall_time_us"), split_unit("times")
    (('startcompute', 1.0), ('walltime', 0.001), ('times', None))
    """
    for pattern in (_TAIL, _CAMEL):
        if match := pattern.match(key):
            unit = unit_ms(next(group for group in match.groups()[1:] if group))
            if unit is not None:
                return _plain(match[1]), unit
    return _plain(key), unit_ms(key)


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())


# A field's name without its unit -> the metric it holds, best first.
METRICS: dict[str, tuple[str, ...]] = {
    "trtexec_latency": (
        *("latency", "hostlatency", "latencies", "times", "time", "periteration"),
        *("iterationtime", "duration", "durations", "elapsed", "inferencetime", "inference"),
        *("total", "totaltime"),
    ),
    "gpu_compute": ("compute", "gpucompute", "gpucomputetime", "gputime", "gpulatency"),
    "h2d": ("h2d", "h2dlatency", "in"),
    "d2h": ("d2h", "d2hlatency", "out"),
    "enqueue": ("enqueue", "enqueuetime", "enq"),
    "end_to_end": ("endtoend", "endtoendlatency", "endtoendhostlatency"),
}
_MARKS = (
    *("startenq", "endenq", "starth2d", "endh2d"),
    *("startcompute", "endcompute", "startd2h", "endd2h"),
    *("startin", "endin", "startout", "endout"),
)
_UNIT_KEYS = ("unit", "units", "time_unit", "timeUnit", "time_units")
# Times even where no unit is given.
_PLAIN_NAMES = frozenset({"latency", "latencies", "times", "periteration"})
_KNOWN = frozenset(name for names in METRICS.values() for name in names)


def is_times(value: Any) -> bool:
    """Whether JSON values look like times of queries, with or without a unit."""
    for key, parent, items in lists_within(value):
        if not items:
            continue
        beside = _unit_beside(parent)
        if isinstance(items[0], dict):
            record = _flat(items[0])
            is_named = any(field.lower() in ("name", "cat") for field in record)
            if not is_named and any(_is_time(field, beside) for field in record):
                return True
        elif finite_number(items[0]) is not None and (not key or _is_time(key, beside)):
            return True
    return False


def _is_time(key: str, beside: float | None) -> bool:
    name = split_unit(key)[0]
    return name in _PLAIN_NAMES or (name in _KNOWN and _meaning(key, beside) is not None)


def time_columns(document: Document) -> tuple[dict[str, Array], int]:
    """Return milliseconds by metric or mark, and how many records were left out.

    Marks are trtexec's time stamps, such as ``startcompute``.
    """
    without_unit: str | None = None
    for key, parent, items in lists_within(document.value):
        if not items:
            continue
        if isinstance(items[0], dict):
            found, left_out = _from_records(items, _unit_beside(parent))
        else:
            found, left_out = _from_lists(key, parent, items)
        if any(name in METRICS for name in found):
            return found, left_out
        without_unit = without_unit or _nameless(key, items)
    if without_unit is not None:
        why = "the unit of the times is unknown"
        expected = "a unit in the field's name, such as latencyMs or time_us"
        raise FormatError(document.source, where=without_unit, why=why, expected=expected)
    raise FormatError(document.source, why="no times in it", expected="a list with latencyMs")


def _nameless(key: str, items: list[Any]) -> str | None:
    """Where times without a unit stand, if these are some."""
    if isinstance(items[0], dict):
        return next((name for name in _flat(items[0]) if split_unit(name)[0] in _KNOWN), None)
    is_known = finite_number(items[0]) is not None and (not key or split_unit(key)[0] in _KNOWN)
    return (key or "the root") if is_known else None


def _from_records(items: list[Any], beside: float | None) -> tuple[dict[str, Array], int]:
    flat = [_flat(item) if isinstance(item, dict) else {} for item in items]
    fullest = max(flat[:5], key=len)
    chosen = _choose({key: meaning for key in fullest if (meaning := _meaning(key, beside))})
    if not chosen:
        return {}, 0
    rows = [[finite_number(one.get(key)) for key, _ in chosen.values()] for one in flat]
    return _columns(chosen, rows)


def _columns(
    chosen: dict[str, tuple[str, float]], rows: Sequence[Sequence[float | None]]
) -> tuple[dict[str, Array], int]:
    """Return milliseconds by what is chosen, and how many rows are not whole."""
    whole = [row for row in rows if None not in row]
    if not whole:
        return {}, 0
    factors = (factor for _, factor in chosen.values())
    columns = zip(chosen, np.array(whole, dtype=np.float64).T, factors, strict=True)
    return {name: column * factor for name, column, factor in columns}, len(rows) - len(whole)


def _from_lists(key: str, parent: dict[str, Any], items: list[Any]) -> tuple[dict[str, Array], int]:
    """The list under `key`, and its neighbors of the same length."""
    fields = {
        name: meaning
        for name, values in (parent or {key: items}).items()
        if isinstance(values, list)
        and len(values) == len(items)
        and (meaning := _meaning(name, _unit_beside(parent)))
    }
    chosen = _choose(fields)
    if not any(name == key for name, _ in chosen.values()):
        return {}, 0
    columns = ((parent or {key: items})[name] for name, _ in chosen.values())
    numbers = ([finite_number(value) for value in column] for column in columns)
    return _columns(chosen, list(zip(*numbers, strict=True)))


def _meaning(key: str, beside: float | None) -> tuple[str, float] | None:
    """A field's plain name and its unit in milliseconds, if both are known."""
    name, factor = split_unit(key)
    factor = factor if factor is not None else beside
    known = name in _KNOWN or name in _MARKS
    return (name, factor) if known and factor is not None else None


def _choose(fields: dict[str, tuple[str, float]]) -> dict[str, tuple[str, float]]:
    """Metric or mark -> (field, factor); where several would do, the best name."""
    by_name = {name: (key, factor) for key, (name, factor) in fields.items()}
    chosen = {mark: by_name[mark] for mark in _MARKS if mark in by_name}
    for metric, names in METRICS.items():
        if (name := next((one for one in names if one in by_name), None)) is not None:
            chosen[metric] = by_name[name]
    return chosen


def _unit_beside(parent: dict[str, Any]) -> float | None:
    words = (parent.get(key) for key in _UNIT_KEYS)
    return next((unit_ms(word) for word in words if isinstance(word, str)), None)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """A record with the fields of the objects inside it, one level down."""
    if not any(isinstance(value, dict) for value in record.values()):
        return record
    flat: dict[str, Any] = {}
    for key, value in record.items():
        flat.update(value if isinstance(value, dict) else {key: value})
    return flat
