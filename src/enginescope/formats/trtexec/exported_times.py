"""Times of each query: trtexec's ``--exportTimes``, and lists of times nested otherwise.

trtexec writes one object a query with six significant digits. Scripts around it wrap such objects
in ``times``, ``perIteration`` or deeper, or keep bare lists; there the unit must stand in a name.

Statistics by trtexec's own rules, to compare its printed summary with its exported times.

The step of the clock behind a series of printed times.

trtexec subtracts 32-bit floats that count milliseconds since it started, and prints six digits. The
step of such a difference doubles whenever that count passes a power of two: 2⁻¹¹ ms from 4.1 s on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from enginescope.core.record import Record, replace
from enginescope.formats.lenient_json import Document, read_json
from enginescope.formats.trtexec.time_columns import METRICS, time_columns
from enginescope.judge.notice import Notice, Notices
from enginescope.judge.samples import Array, Samples, frozen
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import Profile
from enginescope.records.samples import QueryTrace, ReportedSummary

_MIN_VALUES = 32
_MIN_DISTINCT = 3
_FINEST = 24
_PRINTED_DIGITS = 6


def clock_step_ms(values_ms: Array) -> float | None:
    """Return the power of two, in milliseconds, that the last quarter of `values_ms` steps by.

    The step is coarsest at the end. ``None`` if there are too few values, or the digits they are
    printed with are coarser than any step.

    Args:
        values_ms: In the order they were taken.
    """
    tail = values_ms[-max(_MIN_VALUES, values_ms.size // 4) :]
    return _step_of(tail, clearance=4.0)


def on_the_clock(values_ms: Array) -> Array:
    """Return `values_ms` with the rounding of the print undone, where a step shows."""
    step = _step_of(values_ms, clearance=2.0)
    return values_ms if step is None else np.round(values_ms / step) * step


def _step_of(values_ms: Array, clearance: float) -> float | None:
    values = np.abs(values_ms[values_ms != 0])
    if values.size < _MIN_VALUES or np.unique(values).size < _MIN_DISTINCT:
        return None
    rounding = 0.51 * 10.0 ** (np.floor(np.log10(values)) + 1 - _PRINTED_DIGITS)
    for power in range(_FINEST):
        step = 2.0**-power
        if step < clearance * float(rounding.max()):
            return None  # any value would look like a multiple
        if bool(np.all(np.abs(values - np.round(values / step) * step) <= rounding)):
            return step
    return None


def as_trtexec_prints(samples: Samples, percentiles: tuple[float, ...]) -> ReportedSummary:
    """Return what trtexec prints of a series, before rounding to six digits.

    Median: the mean of the two middle values of an even number. Percentile p:
    ``sorted[max(n - 1 - int((1 - p / 100) * n), 0)]`` in 32-bit floats. Mean: 32-bit accumulation
    over the sorted values, which differs from the true mean in the sixth digit. The rounding of the
    exported values is undone first.

    Args:
        samples: At least one value.
        percentiles: 0…100.
    """
    ordered = np.sort(on_the_clock(samples.values_ms).astype(np.float32))
    n = ordered.size
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / np.float32(2)
    mean = np.cumsum(ordered, dtype=np.float32)[-1] / np.float32(n)
    excluded = {p: int((1 - np.float32(p) / np.float32(100)) * np.float32(n)) for p in percentiles}
    return ReportedSummary(
        metric=samples.metric,
        min_ms=float(ordered[0]),
        max_ms=float(ordered[-1]),
        mean_ms=float(mean),
        median_ms=float(middle),
        percentiles=tuple((p, float(ordered[max(n - 1 - excluded[p], 0)])) for p in percentiles),
    )


def resolution_notices(
    source: str, samples: Sequence[Samples], enqueue_start_ms: Array | None
) -> tuple[float | None, Notices]:
    """Return the step of the clock, in milliseconds, and what to say of it.

    Args:
        enqueue_start_ms: When each enqueue began, since the tool started, where enqueue times come
            from differences.
    """
    metrics = {sample.metric: sample for sample in samples}
    series = metrics.get("gpu_compute") or metrics.get("trtexec_latency")
    step = clock_step_ms(series.values_ms) if series else None
    notices = []
    if series and step is not None:
        median_ms = float(np.median(series.values_ms))
        share = f", {100 * step / median_ms:.2g} % of the median" if median_ms > 0 else ""
        share += " GPU compute time" if share and series.metric == "gpu_compute" else ""
        message = f"the times in {source} move in steps of {step * 1e3:.3g} µs{share}"
        evidence = {"metric": series.metric, "step_ms": step, "median_ms": median_ms}
        notices.append(Notice("I-RESOLUTION", message, {"file": source, **evidence}))
    if "enqueue" in metrics and enqueue_start_ms is not None:
        latest = float(np.max(np.abs(enqueue_start_ms)))
        if latest >= 1.0:
            step_ms = stamp_step_ms(latest)
            stamps = f"enqueue times in {source} are differences of time stamps with six digits"
            message = f"{stamps}, so they are only good to {step_ms * 1e3:.3g} µs"
            evidence = {"metric": "enqueue", "step_ms": step_ms, "latest_ms": latest}
            notices.append(Notice("I-ENQUEUE-RESOLUTION", message, {"file": source, **evidence}))
    return step, tuple(notices)


def stamp_step_ms(latest_ms: float) -> float:
    """Return how coarse a time stamp with six digits is."""
    return 10.0 ** (math.floor(math.log10(max(latest_ms, 1e-6))) + 1 - _PRINTED_DIGITS)


class ExportedTimes(Record, frozen=True, kw_only=True, eq=False):
    """The series of one file.

    Attributes:
        samples: One for each metric, all of the same queries.
        wall_ms: Last D2H end − first H2D start, which trtexec divides the queries by for its
            throughput.
        clock_step_ms: What the times step by, where that shows.
        enqueue_step_ms: How coarse enqueue times are that are differences of stamps.
        trace: Stamps of each query, where the file has all of them; it does not say the stream.
    """

    samples: tuple[Samples, ...]
    wall_ms: float | None = None
    clock_step_ms: float | None = None
    enqueue_step_ms: float | None = None
    trace: QueryTrace | None = None


def parse_times(
    data: bytes, source: str, *, warmup_ms: float | None = None
) -> tuple[ExportedTimes, Notices]:
    """Return the series in a JSON file of times.

    Args:
        warmup_ms: Queries before the first whose computation starts this late are warm-up, and are
            kept apart: trtexec's own rule, which 8.4 and older do not apply to the file.

    Returns:
        notices: Repairs, records left out, and how coarse the figures are.
    """
    return times_of(read_json(data, source), warmup_ms=warmup_ms)


def times_of(
    document: Document,
    *,
    warmup_ms: float | None = None,
    warmup_queries: int | None = None,
    queries: int | None = None,
) -> tuple[ExportedTimes, Notices]:
    """Return the series in a file already read; see `parse_times`.

    Args:
        warmup_queries: Those that a log counts before the measurement: a file with as many more
            than `queries` holds them too.
        queries: Those of the measurement.
    """
    named, left_out = time_columns(document)
    columns, is_swapped = _with_meanings(named)
    rows = len(next(iter(columns.values())))
    is_counted = warmup_queries is not None and queries and rows == warmup_queries + queries
    started = columns.get("startcompute")
    begin = 0
    if is_counted and warmup_queries:
        begin = warmup_queries
    elif warmup_ms is not None and started is not None:
        begin = int(np.argmax(started >= warmup_ms))  # 0 where none is that late
    times = _assemble(columns, begin)
    notices = list(document.notices)
    if left_out:
        message = f"{document.source} has {left_out} incomplete records; enginescope skips them"
        evidence = {"file": document.source, "left_out": left_out}
        notices.append(Notice("W-RECORDS", message, evidence))
    if is_swapped:
        apart = "" if begin else "; its warm-up counts as measured, unless its log lies beside it"
        message = (
            f"{document.source} calls the copy to the device Enq and the enqueue In, as TensorRT "
            f"7.1 does: inMs is endEnqMs − startEnqMs; enginescope reads them so{apart}"
        )
        evidence = {"file": document.source, "warmup_queries": begin}
        notices.append(Notice("I-STAMPS-SWAPPED", message, evidence))
    stamps = None if "enqueue" in columns else columns.get("startenq")
    step, told = resolution_notices(document.source, times.samples, stamps)
    enqueue = None if stamps is None else stamp_step_ms(float(np.max(np.abs(stamps))))
    return (replace(times, clock_step_ms=step, enqueue_step_ms=enqueue), (*notices, *told))


#: Stamps as TensorRT 7 and 8.0 call them -> as later versions do.
_RENAMED = {"startin": "starth2d", "endin": "endh2d", "startout": "startd2h", "endout": "endd2h"}


def _with_meanings(columns: dict[str, Array]) -> tuple[dict[str, Array], bool]:
    """Return the columns by what they hold, and whether copy and enqueue had each other's name.

    TensorRT 7.1 writes the stamps of the copy to the device as ``Enq`` and those of the enqueue as
    ``In``. ``inMs``, the time of the copy, tells which of the two is the copy; where neither is,
    the file has no enqueue times.
    """
    named = {_RENAMED.get(name, name): values for name, values in columns.items()}
    copy, marks = columns.get("h2d"), ("startenq", "endenq", "startin", "endin")
    if copy is None or not columns.keys() >= set(marks):
        return named, False
    enqueue_begin, enqueue_end, copy_begin, copy_end = (columns[mark] for mark in marks)
    tolerance = 1.01 * stamp_step_ms(float(max(np.max(np.abs(columns[mark])) for mark in marks)))
    if _are_equal(copy_end - copy_begin, copy, tolerance):
        return named, False
    if _are_equal(enqueue_end - enqueue_begin, copy, tolerance):
        return {
            **named,
            "startenq": copy_begin,
            "endenq": copy_end,
            "starth2d": enqueue_begin,
            "endh2d": enqueue_end,
        }, True
    return {name: values for name, values in named.items() if name not in marks}, False


def _are_equal(mine: Array, theirs: Array, tolerance: float) -> bool:
    return bool(np.all(np.abs(mine - theirs) <= tolerance))


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
    wall_ms = trace = None
    if {"starth2d", "endd2h"} <= columns.keys():
        wall_ms = float(columns["endd2h"][-1] - columns["starth2d"][begin])
    if columns.keys() >= set(_COLUMNS.values()):
        trace = QueryTrace(**{one: frozen(columns[of][begin:]) for one, of in _COLUMNS.items()})
    return ExportedTimes(samples=samples, wall_ms=wall_ms, trace=trace)


#: Stamps of a query -> trtexec's names.
STAMPS = {
    "enqueue_start": "startEnqMs",
    "enqueue_end": "endEnqMs",
    "h2d_start": "startH2dMs",
    "h2d_end": "endH2dMs",
    "compute_start": "startComputeMs",
    "compute_end": "endComputeMs",
    "d2h_start": "startD2hMs",
    "d2h_end": "endD2hMs",
}
_COLUMNS = {stamp: name.removesuffix("Ms").lower() for stamp, name in STAMPS.items()}


# 32-bit accumulation of values whose rounding could not be undone: each addition may round by half
# a step of the sum so far, to the same side when the values are alike.
_MEAN_TOLERANCE = 5e-5
_ROUNDING_OF_AN_ADDITION = 2.0**-25


def summary_mismatches(times: ExportedTimes, printed: Sequence[ReportedSummary]) -> Notices:
    """Return a notice for each metric whose printed statistics are not those of its samples.

    Compared to the printed digit, by trtexec's own rules; enqueue times, which are differences of
    stamps, as far as the stamps go. A mismatch means that the two files are
    not of the same run, or that the times hold more than the tool counted.
    """
    by_metric = {sample.metric: sample for sample in times.samples if len(sample)}
    found = []
    for one in printed:
        if (series := by_metric.get(one.metric)) is None:
            continue
        step = times.enqueue_step_ms if one.metric == "enqueue" else None
        if differing := dict(_differences(series, one, 2.01 * (step or 0.0))):
            summary = f"the printed {one.metric} summary is not that of the exported times"
            message = f"{summary} ({', '.join(differing)} differ)"
            evidence = {"metric": one.metric, "samples": len(series), "differing": differing}
            found.append(Notice("W-SUMMARY-MISMATCH", message, evidence))
    return tuple(found)


def _differences(
    series: Samples, printed: ReportedSummary, absolute: float
) -> Iterator[tuple[str, dict[str, float]]]:
    ours = as_trtexec_prints(series, tuple(p for p, _ in printed.percentiles)).figures
    for name, theirs in printed.figures.items():
        mine = ours[name]
        if mine is None or theirs is None:
            continue
        rounded = max(_MEAN_TOLERANCE, len(series) * _ROUNDING_OF_AN_ADDITION)
        relative = rounded if name == "mean" else 0.0
        if abs(mine - theirs) > absolute and not _agree(mine, theirs, relative):
            yield name, {"samples_ms": mine, "printed_ms": theirs}


def _agree(mine: float, theirs: float, relative: float) -> bool:
    largest = max(abs(mine), abs(theirs))
    if largest == 0:
        return True
    digit = 10.0 ** (math.floor(math.log10(largest)) + 1 - _PRINTED_DIGITS)
    return abs(mine - theirs) <= max(1.01 * digit, relative * largest)


def report_mismatches(reports: Sequence[ToolReport]) -> Notices:
    """Return a notice for each metric, and for the GPU, of which two reports state another thing.

    The run has the figures of the first.
    """
    stated: dict[str, ReportedSummary] = {}
    notices = []
    for report in reports:
        for summary in report.summaries:
            theirs = summary.figures
            differing = {
                name: {"first_ms": value, "second_ms": other}
                for name, value in stated.setdefault(summary.metric, summary).figures.items()
                if value is not None
                and (other := theirs.get(name)) is not None
                and not _agree(value, other, 0.0)
            }
            if differing:
                notices.append(_contradiction(f"the {summary.metric} summaries", differing))
    names = {report.device.name: None for report in reports if report.device}
    if len(names) > 1:
        notices.append(_contradiction("the names of the GPU", {"gpu": list(names)}))
    return tuple(notices)


def query_mismatch(times: ExportedTimes, queries: int | None) -> Notices:
    """Return a notice if a log counts other queries than the exported times have."""
    count = len(times.samples[0]) if times.samples else 0
    if queries is None or count == queries:
        return ()
    return (_contradiction("the counts of queries", {"log": queries, "times": count}),)


#: The table is printed with four decimals.
_TABLE_MS = 1e-4


def profile_mismatch(exported: Profile, printed: Profile) -> Notices:
    """Return a notice if a log prints other means of layers than the exported profile has."""
    means = {layer.name: layer.mean_ms for layer in exported.layers}
    repeated = len(means) < len(exported.layers)
    differing = {
        layer.name: {"exported_ms": mean, "printed_ms": layer.mean_ms}
        for layer in printed.layers
        if not repeated
        and (mean := means.get(layer.name)) is not None
        and layer.mean_ms is not None
        and abs(mean - layer.mean_ms) > max(_TABLE_MS, 1e-3 * mean)
    }
    return (_contradiction("the layer times", differing),) if differing else ()


def _contradiction(what: str, differing: Mapping[str, object]) -> Notice:
    shown = list(differing)[:3]
    more = f" and {len(differing) - len(shown)} more" if len(differing) > len(shown) else ""
    told = f"two files of this run contradict each other in {what} ({', '.join(shown)}{more})"
    message = f"{told}; check that they are of one run"
    return Notice("W-CONTRADICTION", message, {"differing": {one: differing[one] for one in shown}})
