"""A tool's printed summary against the times it exported."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from enginescope.formats.trtexec.trtexec_statistics import as_trtexec_prints
from enginescope.records.notice import Notice
from enginescope.records.samples import ReportedSummary, Samples

_PRINTED_DIGITS = 6
# 32-bit accumulation of values whose rounding could not be undone: each addition may round by half
# a step of the sum so far, to the same side when the values are alike.
_MEAN_TOLERANCE = 5e-5
_ROUNDING_OF_AN_ADDITION = 2.0**-25
# Exported time stamps beyond 1 s are good to 10 µs only; enqueue times are their differences.
_NOT_COMPARABLE = frozenset({"enqueue"})


def summary_mismatches(
    samples: Sequence[Samples], printed: Sequence[ReportedSummary]
) -> tuple[Notice, ...]:
    """Return a notice for each metric whose printed statistics are not those of its samples.

    Compared to the printed digit, by trtexec's own rules. A mismatch means that the two files are
    not of the same run, or that the times hold more than the tool counted.
    """
    by_metric = {sample.metric: sample for sample in samples if len(sample)}
    found = []
    for one in printed:
        series = by_metric.get(one.metric)
        if series is None or one.metric in _NOT_COMPARABLE:
            continue
        differing = dict(_differences(series, one))
        if differing:
            found.append(_notice(one.metric, len(series), differing))
    return tuple(found)


def _differences(
    series: Samples, printed: ReportedSummary
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
        if not _agree(mine, theirs, relative):
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
