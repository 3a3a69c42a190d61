"""What stands twice among the files of one run must agree; a contradiction is a notice.

A tool's printed summary and the times it exported, a log and the metadata that was cut out of it,
the printed and the exported table of layer times, and counts of queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from enginescope.formats.trtexec.exported_times import ExportedTimes, as_trtexec_prints
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples
from enginescope.records.plan.plan import Profile
from enginescope.records.plan.tool_report import ToolReport
from enginescope.records.samples import ReportedSummary

_PRINTED_DIGITS = 6
# 32-bit accumulation of values whose rounding could not be undone: each addition may round by half
# a step of the sum so far, to the same side when the values are alike.
_MEAN_TOLERANCE = 5e-5
_ROUNDING_OF_AN_ADDITION = 2.0**-25


def summary_mismatches(
    times: ExportedTimes, printed: Sequence[ReportedSummary]
) -> tuple[Notice, ...]:
    """Return a notice for each metric whose printed statistics are not those of its samples.

    Compared to the printed digit, by trtexec's own rules; enqueue times, which are differences of
    stamps, as far as the stamps go. A mismatch means that the two files are
    not of the same run, or that the times hold more than the tool counted.
    """
    by_metric = {sample.metric: sample for sample in times.samples if len(sample)}
    found = []
    for one in printed:
        series = by_metric.get(one.metric)
        if series is None:
            continue
        step = times.enqueue_step_ms if one.metric == "enqueue" else None
        differing = dict(_differences(series, one, 2.01 * (step or 0.0)))
        if differing:
            found.append(_notice(one.metric, len(series), differing))
    return tuple(found)


def _differences(
    series: Samples, printed: ReportedSummary, absolute: float
) -> Iterator[tuple[str, dict[str, float]]]:
    ours = as_trtexec_prints(series, tuple(p for p, _ in printed.percentiles))
    pairs = [
        ("min", ours.min_ms, printed.min_ms),
        ("max", ours.max_ms, printed.max_ms),
        ("mean", ours.mean_ms, printed.mean_ms),
        ("median", ours.median_ms, printed.median_ms),
    ]
    pairs += [
        (f"p{p:g}", mine, theirs)
        for (p, mine), (_, theirs) in zip(ours.percentiles, printed.percentiles, strict=True)
    ]
    for name, mine, theirs in pairs:
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


def _notice(metric: str, n: int, differing: dict[str, dict[str, float]]) -> Notice:
    names = ", ".join(differing)
    return Notice(
        code="W-SUMMARY-MISMATCH",
        message=f"the printed {metric} summary is not that of the exported times ({names} differ)",
        evidence={"metric": metric, "samples": n, "differing": differing},
    )


def report_mismatches(reports: Sequence[ToolReport]) -> tuple[Notice, ...]:
    """Return a notice for each metric, and for the GPU, of which two reports state another thing.

    The run has the figures of the first.
    """
    stated: dict[str, ReportedSummary] = {}
    notices = []
    for report in reports:
        for summary in report.summaries:
            first = stated.setdefault(summary.metric, summary)
            if first is not summary and (differing := dict(_apart(first, summary))):
                notices.append(_contradiction(f"the {summary.metric} summaries", differing))
    names = {report.device.name: None for report in reports if report.device}
    if len(names) > 1:
        notices.append(_contradiction("the names of the GPU", {"gpu": list(names)}))
    return tuple(notices)


def _apart(
    first: ReportedSummary, second: ReportedSummary
) -> Iterator[tuple[str, dict[str, float]]]:
    names = ("min", "max", "mean", "median")
    mine = {name: getattr(first, f"{name}_ms") for name in names}
    theirs = {name: getattr(second, f"{name}_ms") for name in names}
    mine.update((f"p{p:g}", value) for p, value in first.percentiles)
    theirs.update((f"p{p:g}", value) for p, value in second.percentiles)
    for name, value in mine.items():
        other = theirs.get(name)
        if value is not None and other is not None and not _agree(value, other, 0.0):
            yield name, {"first_ms": value, "second_ms": other}


def query_mismatch(times: ExportedTimes, queries: int | None) -> tuple[Notice, ...]:
    """Return a notice if a log counts other queries than the exported times have."""
    count = len(times.samples[0]) if times.samples else 0
    if queries is None or count == queries:
        return ()
    return (_contradiction("the counts of queries", {"log": queries, "times": count}),)


#: The table is printed with four decimals.
_TABLE_MS = 1e-4


def profile_mismatch(exported: Profile, printed: Profile) -> tuple[Notice, ...]:
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
    return Notice(
        code="W-CONTRADICTION",
        message=f"two files of this run contradict each other in {what} "
        f"({', '.join(shown)}{more}); check that they are of one run",
        evidence={"differing": {name: differing[name] for name in shown}},
    )
