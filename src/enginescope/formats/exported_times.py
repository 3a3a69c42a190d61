"""Times of each query: trtexec's ``--exportTimes``, and lists of times nested otherwise.

trtexec writes one object a query with six significant digits. Scripts around it wrap such objects
in ``times``, ``perIteration`` or deeper, or keep bare lists; there the unit must stand in a name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.formats.json_walk import finite_number, lists_within
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.times_notices import resolution_notices
from enginescope.formats.unit_keys import split_unit, unit_ms
from enginescope.model.notice import Notice
from enginescope.model.samples import Array, Samples, frozen

# A field's name without its unit -> the metric it holds, best first.
_METRICS: dict[str, tuple[str, ...]] = {
    "trtexec_latency": (
        "latency",
        "hostlatency",
        "latencies",
        "times",
        "time",
        "periteration",
        "iterationtime",
        "duration",
        "durations",
        "elapsed",
        "inferencetime",
        "inference",
        "total",
        "totaltime",
    ),
    "gpu_compute": ("compute", "gpucompute", "gpucomputetime", "gputime", "gpulatency"),
    "h2d": ("h2d", "h2dlatency", "in"),
    "d2h": ("d2h", "d2hlatency", "out"),
    "enqueue": ("enqueue", "enqueuetime", "enq"),
    "end_to_end": ("endtoend", "endtoendlatency", "endtoendhostlatency"),
}
_MARKS = ("startenq", "endenq", "starth2d", "startcompute", "endd2h")
_UNIT_KEYS = ("unit", "units", "time_unit", "timeUnit", "time_units")
# Times even where no unit is given.
_PLAIN_NAMES = frozenset({"latency", "latencies", "times", "periteration"})
_KNOWN = frozenset(name for names in _METRICS.values() for name in names)


class ExportedTimes(Record, frozen=True, kw_only=True, eq=False):
    """The series of one file.

    Attributes
    ----------
    samples : tuple of Samples
        One for each metric, all of the same queries.
    wall_ms : float or None
        Last D2H end − first H2D start, which trtexec divides the queries by for its throughput.
    clock_step_ms : float or None
        What the times step by, where that shows.
    """

    samples: tuple[Samples, ...]
    wall_ms: float | None = None
    clock_step_ms: float | None = None


def parse_times(
    data: bytes, source: str, *, warmup_ms: float | None = None
) -> tuple[ExportedTimes, tuple[Notice, ...]]:
    """Return the series in a JSON file of times.

    Parameters
    ----------
    data : bytes
    source : str
        The file, for messages.
    warmup_ms : float, optional
        Queries before the first whose computation starts this late are warm-up, and are kept
        apart: trtexec's own rule, which 8.4 and older do not apply to the file.

    Returns
    -------
    times : ExportedTimes
    notices : tuple of Notice
        Repairs, records left out, and how coarse the figures are.

    Raises
    ------
    FormatError
        It is not JSON, holds no times, or does not say their unit.
    """
    return times_of(read_json(data, source), warmup_ms=warmup_ms)


def times_of(
    document: Document, *, warmup_ms: float | None = None
) -> tuple[ExportedTimes, tuple[Notice, ...]]:
    """Return the series in a file already read; see `parse_times`."""
    columns, left_out = _columns(document)
    begin = _first_kept(columns, warmup_ms)
    times = _assemble(columns, begin)
    notices = list(document.notices)
    if left_out:
        notices.append(_left_out(document.source, left_out))
    step, found = resolution_notices(document.source, times.samples, columns.get("startenq"))
    return (
        ExportedTimes(samples=times.samples, wall_ms=times.wall_ms, clock_step_ms=step),
        (*notices, *found),
    )


def is_times(value: Any) -> bool:
    """Whether JSON values look like times of queries, with or without a unit."""
    for key, parent, items in lists_within(value):
        if not items:
            continue
        beside = _unit_beside(parent)
        if isinstance(items[0], dict):
            record = _flat(items[0])
            if not {"name", "cat"} & record.keys() and any(_is_time(one, beside) for one in record):
                return True
        elif finite_number(items[0]) is not None and (not key or _is_time(key, beside)):
            return True
    return False


def _is_time(key: str, beside: float | None) -> bool:
    name = split_unit(key)[0]
    return name in _PLAIN_NAMES or (name in _KNOWN and _meaning(key, beside) is not None)


def _columns(document: Document) -> tuple[dict[str, Array], int]:
    """Milliseconds by metric or mark, and how many records were left out."""
    without_unit: str | None = None
    for key, parent, items in lists_within(document.value):
        if not items:
            continue
        if isinstance(items[0], dict):
            found, left_out = _from_records(items, _unit_beside(parent))
        else:
            found, left_out = _from_lists(key, parent, items)
        if any(name in _METRICS for name in found):
            return found, left_out
        if without_unit is None:
            without_unit = _nameless(key, items)
    if without_unit is not None:
        raise FormatError(
            document.source,
            where=without_unit,
            why="nothing says in which unit the times are",
            expected="a unit in the field's name, such as latencyMs or time_us",
        )
    raise FormatError(document.source, why="no times in it", expected="a list with latencyMs")


def _nameless(key: str, items: list[Any]) -> str | None:
    """Where times without a unit stand, if these are some."""
    if isinstance(items[0], dict):
        return next((name for name in _flat(items[0]) if split_unit(name)[0] in _KNOWN), None)
    is_known = finite_number(items[0]) is not None and (not key or split_unit(key)[0] in _KNOWN)
    return (key or "the root") if is_known else None


def _from_records(items: list[Any], beside: float | None) -> tuple[dict[str, Array], int]:
    flat = [_flat(one) if isinstance(one, dict) else {} for one in items]
    fullest = max(flat[:5], key=len)
    chosen = _choose({key: meaning for key in fullest if (meaning := _meaning(key, beside))})
    if not chosen:
        return {}, 0
    rows = [[finite_number(one.get(key)) for key, _ in chosen.values()] for one in flat]
    whole = [row for row in rows if None not in row]
    table = np.array(whole, dtype=np.float64).reshape(len(whole), len(chosen))
    if not whole:
        return {}, 0
    found = {
        name: table[:, column] * factor for column, (name, (_, factor)) in enumerate(chosen.items())
    }
    return found, len(rows) - len(whole)


def _from_lists(key: str, parent: dict[str, Any], items: list[Any]) -> tuple[dict[str, Array], int]:
    """The list under `key`, and its neighbours of the same length."""
    found: dict[str, Array] = {}
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
    columns = {name: (parent or {key: items})[one] for name, (one, _) in chosen.items()}
    numbers = ([finite_number(value) for value in one] for one in columns.values())
    rows = list(zip(*numbers, strict=True))
    whole = [row for row in rows if None not in row]
    for column, (name, (_, factor)) in enumerate(chosen.items()):
        found[name] = np.array([row[column] for row in whole], dtype=np.float64) * factor
    return (found, len(rows) - len(whole)) if whole else ({}, 0)


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
    for metric, names in _METRICS.items():
        name = next((one for one in names if one in by_name), None)
        if name is not None:
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


def _first_kept(columns: dict[str, Array], warmup_ms: float | None) -> int:
    started = columns.get("startcompute")
    if warmup_ms is None or started is None:
        return 0
    late = started >= warmup_ms
    return int(np.argmax(late)) if bool(late.any()) else 0


def _assemble(columns: dict[str, Array], begin: int) -> ExportedTimes:
    series = {name: columns[name] for name in _METRICS if name in columns}
    if "enqueue" not in series and {"startenq", "endenq"} <= columns.keys():
        series["enqueue"] = columns["endenq"] - columns["startenq"]
    started = next((columns[one] for one in ("starth2d", "startcompute") if one in columns), None)
    start = None if started is None else frozen(started[begin:] - started[begin])
    samples = tuple(
        Samples(
            metric=metric,
            values_ms=frozen(values[begin:]),
            warmup_ms=frozen(values[:begin]) if begin else None,
            start_ms=start,
        )
        for metric, values in series.items()
    )
    return ExportedTimes(samples=samples, wall_ms=_wall(columns, begin))


def _wall(columns: dict[str, Array], begin: int) -> float | None:
    if not {"starth2d", "endd2h"} <= columns.keys():
        return None
    return float(columns["endd2h"][-1] - columns["starth2d"][begin])


def _left_out(source: str, count: int) -> Notice:
    return Notice(
        code="W-RECORDS",
        message=f"{source} has {count} records without all their times; they are left out",
        evidence={"file": source, "left_out": count},
    )
