"""Times of each layer: trtexec's ``--exportProfile``, Torch-TensorRT's, and nestings of them.

Also layer times that a script's ``IProfiler`` collected.
"""

import math
import re
from functools import lru_cache
from statistics import fmean, median
from typing import Any, NamedTuple

from enginescope.core.errors import FormatError
from enginescope.core.process_control import gc_paused
from enginescope.formats import lenient_json
from enginescope.formats.trtexec.time_columns import split_unit
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile

_TOTAL = ("time", "total", "totaltime")
_MEAN = ("average", "avg", "mean", "averagetime", "avgtime", "meantime")
_MEDIAN = ("median", "mediantime")
_SHARE = ("percentage", "percent", "pct", "timepct")
#: Eleven days: no layer takes longer, nor does a profiling pass.
_LONGEST_MS = 1e9
#: A mean may differ from total ÷ iterations by its rounding: at most this part.
_MOST_APART = 0.01
#: Code of a notice on figures that are not believed -> what is wrong with them.
_DOUBTS = {
    "W-TIMES-NEGATIVE": "below zero",
    "W-TIMES-IMPLAUSIBLE": f"of {_LONGEST_MS:g} ms or more",
    "W-TIMES-CONTRADICT": "whose mean is not the total divided by the count of iterations",
}
#: Code -> names of the layers concerned.
_Doubts = dict[str, list[str]]


class _Columns(NamedTuple):
    """Where a record with certain keys has its figures, and the milliseconds in one of their unit.

    A figure may stand under several keys; the first with a number is taken.
    """

    total: tuple[tuple[str, float], ...]
    mean: tuple[tuple[str, float], ...]
    median: tuple[tuple[str, float], ...]
    share: tuple[tuple[str, float], ...]


def parse_profile(data: bytes, source: str) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layer times in a JSON file.

    Returns:
        profile: Layers in the file's order; repeated names stay apart by position. ``timeMs`` is a
            total over the iterations, ``averageMs`` the time of one.
    """
    with gc_paused():
        return profile_of(lenient_json.read_json(data, source))


def profile_of(document: lenient_json.Document) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layer times in a file already read; see `parse_profile`."""
    if (items := _records(document.value)) is None:
        why = "no layer times in it"
        raise FormatError(document.source, why=why, expected="a list with name and averageMs")
    read = [(item, _row_columns(item)) for item in items]
    rows = [(item, columns) for item, columns in read if columns is not None]
    others = [item for item, columns in read if columns is None]
    iterations = _iterations(document.value, others)
    doubts: _Doubts = {}
    layers = tuple([_timing(at, *row, iterations, doubts) for at, row in enumerate(rows)])
    left_out = len(others) - sum(_is_count(other) for other in others)
    file, notices = document.source, list(document.notices)
    if left_out:
        records = "1 record that is not a layer time"
        if left_out > 1:
            records = f"{left_out:,} records that are not layer times"
        message = f"{file}: skipped {records}"
        notices.append(Notice("W-RECORDS", message, {"file": file, "left_out": left_out}))
    for code, names in doubts.items():
        figures = "1 figure" if len(names) == 1 else f"{len(names):,} figures"
        doubted = f"{figures} {_DOUBTS[code]}, the first of {names[0]!r}"
        message = f"{file} has {doubted}; read as not known"
        evidence = {"file": file, "figures": len(names), "first": names[0]}
        notices.append(Notice(code, message, evidence))
    # Torch-TensorRT writes a bare list without a count and without medians
    is_bare = iterations is None and isinstance(document.value, list)
    is_torch = is_bare and all(layer.median_ms is None for layer in layers)
    source = "torch-tensorrt" if is_torch else "trtexec"
    return Profile(source=source, layers=layers, iterations=iterations), tuple(notices)


def is_profile(value: Any) -> bool:
    """Whether JSON values look like layer times."""
    return _records(value) is not None


def _records(value: Any) -> list[Any] | None:
    found = (items for _, _, items in lenient_json.lists_within(value))
    rows = (items for items in found if any(_row_columns(item) is not None for item in items))
    return next(rows, None)


def _row_columns(raw: Any) -> _Columns | None:
    """Where a layer's times stand in its record; ``None`` if it is none."""
    if type(raw) is not dict or type(raw.get("name")) is not str or "cat" in raw:
        return None
    return _columns(tuple(raw))


@lru_cache(maxsize=256)
def _columns(keys: tuple[str, ...]) -> _Columns | None:
    """Records of one file have the same keys: their names are taken apart once."""
    parts = [(key, *split_unit(key)) for key in keys]

    def timed(names: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
        return tuple((key, ms) for key, name, ms in parts if name in names and ms is not None)

    share = tuple((key, 1.0) for key, name, _ in parts if name in _SHARE)
    made = _Columns(total=timed(_TOTAL), mean=timed(_MEAN), median=timed(_MEDIAN), share=share)
    return made if made.total or made.mean or made.median else None


def _is_count(raw: Any) -> bool:
    return isinstance(raw, dict) and "count" in raw and "name" not in raw


def _iterations(value: Any, others: list[Any]) -> int | None:
    counts = [other["count"] for other in others if _is_count(other)]
    if isinstance(value, dict):
        counts += [value.get("count"), value.get("iterations")]
    known = (lenient_json.whole_number(count) for count in counts)
    return next((one for one in known if one is not None and one > 0), None)


def _timing(
    index: int, row: dict[str, Any], columns: _Columns, iterations: int | None, doubts: _Doubts
) -> LayerTiming:
    total = _figure(row, columns.total, doubts)
    mean = _figure(row, columns.mean, doubts)
    if total is not None and iterations:
        mean_of_total = total / iterations
        if mean is None:
            mean = mean_of_total
        elif abs(mean - mean_of_total) > _MOST_APART * max(mean, mean_of_total):
            doubts.setdefault("W-TIMES-CONTRADICT", []).append(row["name"])
            mean = total = None
    return LayerTiming(
        index=index,
        name=row["name"],
        mean_ms=mean,
        median_ms=_figure(row, columns.median, doubts),
        total_ms=total,
        share_pct=_figure(row, columns.share, doubts),
    )


def _figure(
    row: dict[str, Any], places: tuple[tuple[str, float], ...], doubts: _Doubts
) -> float | None:
    for key, factor in places:
        value = row[key]
        if type(value) is not float:  # mostly it is: half a million times in a large plan
            if type(value) is not int:
                continue
            value = float(max(-lenient_json.MAX_INT, min(value, lenient_json.MAX_INT)))
        if 0 <= value * factor < _LONGEST_MS:
            return value * factor
        if not math.isnan(value):
            code = "W-TIMES-NEGATIVE" if value < 0 else "W-TIMES-IMPLAUSIBLE"
            doubts.setdefault(code, []).append(row["name"])
    return None


# How TensorRT names layers; a dictionary of other numbers has none of these.
_LAYER_NAME = re.compile(
    r"Reformatting CopyNode|ForeignNode\[|^__my[el]|PWN\(|\(Unnamed Layer\*| \+ |^/\S+/\S+"
)


def is_layer_latencies(value: Any) -> bool:
    """Whether JSON values are times by layer: numbers, or lists of as many numbers each."""
    if not isinstance(value, dict) or not any(map(_LAYER_NAME.search, value)):
        return False
    values = list(value.values())
    if any(isinstance(times, list) for times in values):
        return all(
            isinstance(times, list) and times and all(map(_is_time, times)) for times in values
        )
    return all(map(_is_time, values))


def layer_latencies_of(document: lenient_json.Document) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layers in the file's order; figures of several inferences per layer, else one."""
    if not is_layer_latencies(document.value):
        raise FormatError(document.source, why="no times by layer", expected='{"layer": [ms, …]}')
    times = {
        name: [float(one) for one in (value if isinstance(value, list) else [value])]
        for name, value in document.value.items()
    }
    counts = {len(values) for values in times.values()}
    counted = "its layer times count as milliseconds, as TensorRT's IProfiler reports them"
    message = f"{document.source} states no unit; {counted}"
    notice = Notice("I-UNIT-ASSUMED", message, {"file": document.source})
    layers = tuple(
        LayerTiming(
            index=index,
            name=name,
            mean_ms=fmean(values),
            median_ms=median(values) if len(values) > 1 else None,
            total_ms=sum(values),
        )
        for index, (name, values) in enumerate(times.items())
    )
    iterations = counts.pop() if len(counts) == 1 else None
    profile = Profile(source="iprofiler", layers=layers, iterations=iterations)
    return profile, (*document.notices, notice)


def _is_time(value: Any) -> bool:
    number = lenient_json.finite_number(value)
    return number is not None and number >= 0
