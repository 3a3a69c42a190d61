"""Statistics by trtexec's own rules, to hold its printed summary against its exported times.

The step of the clock behind a series of printed times.

trtexec subtracts 32-bit floats that count milliseconds since it started, and prints six digits. The
step of such a difference doubles whenever that count passes a power of two: 2⁻¹¹ ms from 4.1 s on.
A tool's printed summary against the times it exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from enginescope.records.notice import Notice
from enginescope.records.samples import Array, ReportedSummary, Samples

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
    return ReportedSummary(
        metric=samples.metric,
        min_ms=float(ordered[0]),
        max_ms=float(ordered[-1]),
        mean_ms=float(mean),
        median_ms=float(middle),
        percentiles=tuple((p, _percentile(ordered, p)) for p in percentiles),
    )


def _percentile(ordered: Array, p: float) -> float:
    share = np.float32(1) - np.float32(p) / np.float32(100)
    exclude = int(share * np.float32(ordered.size))
    return float(ordered[max(ordered.size - 1 - exclude, 0)])


_SUMMARY_DIGITS = 6
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
    digit = 10.0 ** (math.floor(math.log10(largest)) + 1 - _SUMMARY_DIGITS)
    return abs(mine - theirs) <= max(1.01 * digit, relative * largest)


def _notice(metric: str, n: int, differing: dict[str, dict[str, float]]) -> Notice:
    names = ", ".join(differing)
    return Notice(
        code="W-SUMMARY-MISMATCH",
        message=f"the printed {metric} summary is not that of the exported times ({names} differ)",
        evidence={"metric": metric, "samples": n, "differing": differing},
    )
