"""Layer times that a script's ``IProfiler`` collected: a name, and one or many milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import fmean, median
from typing import Any

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document, finite_number
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import LayerTiming, Profile

# How TensorRT names layers; a dictionary of other numbers has none of these.
_LAYER_NAME = re.compile(
    r"Reformatting CopyNode|ForeignNode\[|^__my[el]|PWN\(|\(Unnamed Layer\*| \+ |^/\S+/\S+"
)


def is_layer_latencies(value: Any) -> bool:
    """Whether JSON values are times by layer: numbers, or lists of as many numbers each."""
    if not isinstance(value, dict) or not any(map(_LAYER_NAME.search, value)):
        return False
    lists = [times for times in value.values() if isinstance(times, list)]
    if lists:
        return len(lists) == len(value) and all(
            times and all(map(_is_time, times)) for times in lists
        )
    return all(_is_time(times) for times in value.values())


def layer_latencies_of(document: Document) -> tuple[Profile, tuple[Notice, ...]]:
    """Return the layers in the file's order; figures of several inferences per layer, else one.

    Raises:
        FormatError: It holds no times by layer.
    """
    if not is_layer_latencies(document.value):
        raise FormatError(document.source, why="no times by layer", expected='{"layer": [ms, …]}')
    times = {name: _listed(one) for name, one in document.value.items()}
    counts = {len(one) for one in times.values()}
    notice = Notice(
        code="I-UNIT-ASSUMED",
        message=f"{document.source} states no unit; its layer times count as milliseconds, as "
        "TensorRT's IProfiler reports them",
        evidence={"file": document.source},
        level="info",
    )
    profile = Profile(
        source="iprofiler",
        layers=tuple(_timings(times)),
        iterations=counts.pop() if len(counts) == 1 else None,
    )
    return profile, (*document.notices, notice)


def _timings(times: dict[str, list[float]]) -> Iterator[LayerTiming]:
    for index, (name, values) in enumerate(times.items()):
        yield LayerTiming(
            index=index,
            name=name,
            mean_ms=fmean(values),
            median_ms=median(values) if len(values) > 1 else None,
            total_ms=sum(values),
        )


def _listed(value: Any) -> list[float]:
    return [float(one) for one in (value if isinstance(value, list) else [value])]


def _is_time(value: Any) -> bool:
    number = finite_number(value)
    return number is not None and number >= 0
