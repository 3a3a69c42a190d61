"""State a difference: detected, not detected above a bound that is excluded, or inconclusive."""

from __future__ import annotations

import math

from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant
from enginescope.judge.verdict import Reason, Verdict, VerdictKind

#: A verdict without its bound, where a legend names kinds alone.
NOT_DETECTED = "not detected"

_REASONS = {
    Reason.BEYOND_THRESHOLD: "above the threshold",
    Reason.WITHIN_THRESHOLD: "within the threshold",
    Reason.INTERVAL_TOO_WIDE: "interval too wide",
    Reason.NO_INTERVAL: "no interval",
    Reason.FEW_SAMPLES: "too few samples",
    Reason.ONE_VALUE: "one value a side",
    Reason.CLOCK_STEP: "clock too coarse",
    Reason.BUILD_SPREAD: "builds differ as much",
    Reason.SESSIONS: "sessions differ as much",
    Reason.PROCESS_STATES: "processes at two levels",
    Reason.EXACT: "exact figures",
    Reason.UNSTABLE: "unstable medians",
    Reason.PRINTED_ONLY: "printed figures only",
    Reason.DIFFERENT: "conditions differ",
}


def reason_text(reason: Reason) -> str:
    """Return a reason in words; its code is for files."""
    return _REASONS[reason]


def none_above(bound: float, unit: str = "%") -> str:
    """Return ``no difference above 2.7 %``, the bound rounded up."""
    step = 10.0 ** (math.floor(math.log10(bound)) - 1) if bound > 0 else 1.0
    upper = math.ceil(bound / step - 1e-9) * step
    return f"no difference above {format_significant(upper, 2)} {unit}"


def excluded_pct(interval: Interval) -> float:
    """Return the least change that the interval of a ratio excludes in both directions, percent."""
    return 100 * max(abs(interval.low - 1), abs(interval.high - 1))


def same_text(verdict: Verdict) -> str:
    """Return `none_above` of a verdict that detects no difference, by its interval.

    Exact figures have no interval: they differ by no more than the threshold.
    """
    interval = verdict.estimate.interval if verdict.estimate else None
    return none_above(excluded_pct(interval) if interval else verdict.threshold_pct)


def kind_text(verdict: Verdict, less: str, more: str) -> str:
    """Return a verdict in words: detected, with a direction, not detected, or inconclusive.

    Args:
        less, more: Words of the unit for less and for more of it: ``faster`` and ``slower``.
    """
    if verdict.reason is Reason.PRINTED_ONLY:
        return reason_text(verdict.reason)
    if verdict.kind is VerdictKind.INCOMPARABLE:
        return "not comparable"
    if not verdict.is_tested:
        return "not tested"
    if verdict.kind is VerdictKind.SAME:
        return same_text(verdict)
    if verdict.kind is VerdictKind.INCONCLUSIVE:
        return "inconclusive"
    return more if (verdict.kind is VerdictKind.FASTER) is verdict.higher_is_better else less
