"""Times of each query: trtexec's ``--exportTimes``, and lists of times nested otherwise.

trtexec writes one object a query with six significant digits. Scripts around it wrap such objects
in ``times``, ``perIteration`` or deeper, or keep bare lists; there the unit must stand in a name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from enginescope.core.record import Record
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.trtexec.time_columns import METRICS, time_columns
from enginescope.formats.trtexec.trtexec_statistics import clock_step_ms
from enginescope.records.notice import Notice
from enginescope.records.samples import Array, Samples, frozen

_PRINTED_DIGITS = 6


def resolution_notices(
    source: str, samples: Sequence[Samples], enqueue_start_ms: Array | None
) -> tuple[float | None, tuple[Notice, ...]]:
    """Return the step of the clock, in milliseconds, and what to say of it.

    Args:
        source: The file, for messages.
        enqueue_start_ms: When each enqueue began, since the tool started, where enqueue times come
            from differences.
    """
    by_metric = {sample.metric: sample for sample in samples}
    series = by_metric.get("gpu_compute") or by_metric.get("trtexec_latency")
    step = clock_step_ms(series.values_ms) if series else None
    notices = []
    if series and step is not None:
        notices.append(_clock(source, series, step))
    if "enqueue" in by_metric and enqueue_start_ms is not None:
        latest = float(np.max(np.abs(enqueue_start_ms)))
        if latest >= 1.0:
            notices.append(_enqueue(source, latest, by_metric["enqueue"]))
    return step, tuple(notices)


def _clock(source: str, series: Samples, step_ms: float) -> Notice:
    median_ms = float(np.median(series.values_ms))
    share = f", {100 * step_ms / median_ms:.2g} % of the median" if median_ms > 0 else ""
    return Notice(
        code="I-RESOLUTION",
        message=f"the times in {source} move in steps of {step_ms * 1e3:.3g} µs{share}",
        evidence={
            "file": source,
            "metric": series.metric,
            "step_ms": step_ms,
            "median_ms": median_ms,
        },
        level="info",
    )


def _enqueue(source: str, latest_ms: float, series: Samples) -> Notice:
    step_ms = 10.0 ** (math.floor(math.log10(latest_ms)) + 1 - _PRINTED_DIGITS)
    return Notice(
        code="I-ENQUEUE-RESOLUTION",
        message=f"enqueue times in {source} are differences of time stamps with six digits, "
        f"so they are only good to {step_ms * 1e3:.3g} µs",
        evidence={
            "file": source,
            "metric": series.metric,
            "step_ms": step_ms,
            "latest_ms": latest_ms,
        },
        level="info",
    )


class ExportedTimes(Record, frozen=True, kw_only=True, eq=False):
    """The series of one file.

    Attributes:
        samples: One for each metric, all of the same queries.
        wall_ms: Last D2H end − first H2D start, which trtexec divides the queries by for its
            throughput.
        clock_step_ms: What the times step by, where that shows.
    """

    samples: tuple[Samples, ...]
    wall_ms: float | None = None
    clock_step_ms: float | None = None


def parse_times(
    data: bytes, source: str, *, warmup_ms: float | None = None
) -> tuple[ExportedTimes, tuple[Notice, ...]]:
    """Return the series in a JSON file of times.

    Args:
        source: The file, for messages.
        warmup_ms: Queries before the first whose computation starts this late are warm-up, and are
            kept apart: trtexec's own rule, which 8.4 and older do not apply to the file.

    Returns:
        notices: Repairs, records left out, and how coarse the figures are.

    Raises:
        FormatError: It is not JSON, holds no times, or does not say their unit.
    """
    return times_of(read_json(data, source), warmup_ms=warmup_ms)


def times_of(
    document: Document, *, warmup_ms: float | None = None
) -> tuple[ExportedTimes, tuple[Notice, ...]]:
    """Return the series in a file already read; see `parse_times`."""
    columns, left_out = time_columns(document)
    begin = _first_kept(columns, warmup_ms)
    times = _assemble(columns, begin)
    notices = list(document.notices)
    if left_out:
        notices.append(_left_out(document.source, left_out))
    stamps = None if "enqueue" in columns else columns.get("startenq")
    step, found = resolution_notices(document.source, times.samples, stamps)
    return (
        ExportedTimes(samples=times.samples, wall_ms=times.wall_ms, clock_step_ms=step),
        (*notices, *found),
    )


def _first_kept(columns: dict[str, Array], warmup_ms: float | None) -> int:
    started = columns.get("startcompute")
    if warmup_ms is None or started is None:
        return 0
    late = started >= warmup_ms
    return int(np.argmax(late)) if bool(late.any()) else 0


def _assemble(columns: dict[str, Array], begin: int) -> ExportedTimes:
    series = {name: columns[name] for name in METRICS if name in columns}
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
