"""What is said of B against A in a sampled metric.

The processes of two sides round by round, and what each knows of its own median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.judge.comparison.process_states import decide_sides
from enginescope.judge.comparison.ratio import (
    corrected_ratio,
    middle_of,
    more_needed,
    ratio_by_scatter,
    ratio_of_counting_rounds,
    ratio_of_few_processes,
)
from enginescope.judge.comparison.sessions import allow_for_sessions, is_open_for_sessions
from enginescope.judge.comparison.steady_rounds import uncertainty_pct
from enginescope.judge.stats.series import quantum
from enginescope.judge.stats.stability import WIDE_PCT
from enginescope.judge.units import format_significant
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind

T = TypeVar("T")

Side = tuple[RunView, ...]
Sides = tuple[Side, Side]


def rounds_of(sides: Sides, figures: Sequence[Sequence[T]]) -> tuple[list[T], list[T]] | None:
    """Return both sides' figures round by round, of rounds that both have; else ``None``."""
    turns = [[view.run.turn for view in side] for side in sides]
    names = {turn.comparison if turn else None for side in turns for turn in side}
    if len(names) != 1 or None in names:
        return None
    by_round = [
        {turn.round: figure for turn, figure in zip(side, row, strict=True) if turn}
        for side, row in zip(turns, figures, strict=True)
    ]
    shared = sorted(by_round[0].keys() & by_round[1].keys())
    if not shared:
        return None
    first, second = ([side[one] for one in shared] for side in by_round)
    return first, second


def uncertainties_pct(side: Side, metric: str) -> list[float | None]:
    """Return what each process' median is known to, ± in percent; ``None``: too few samples."""
    series = (view.run.series(metric) for view in side)
    return [None if one is None else uncertainty_pct(one.values_ms) for one in series]


def is_unstable(sides: Sides, metric: str) -> bool:
    """Whether the medians of half of the processes of a side are hardly known."""
    known = (uncertainties_pct(side, metric) for side in sides)
    wide = ([one is not None and one > WIDE_PCT for one in side] for side in known)
    return any(2 * sum(side) >= len(side) for side in wide)


def series_verdict(sides: Sides, metric: str, terms: CompareConfig) -> Verdict | None:
    """Compare the medians of a sampled metric; ``None`` where a process did not take it."""
    summaries = [[view.summary(metric) for view in side] for side in sides]
    if any(one is None for side in summaries for one in side):
        return None
    medians = [[one.median_ms for one in side if one] for side in summaries]
    if any(one <= 0 for side in medians for one in side):
        return None
    estimate, used = _estimate(sides, metric, medians, terms)
    estimate = allow_for_sessions(estimate, terms.sessions)
    kind, reason, detail = decide_sides(estimate, used, terms.threshold_pct)
    if reason is Reason.INTERVAL_TOO_WIDE and is_open_for_sessions(
        estimate, terms.sessions, terms.threshold_pct
    ):
        reason = Reason.SESSIONS
    if kind is VerdictKind.INCONCLUSIVE and detail is None and is_unstable(sides, metric):
        reason = Reason.UNSTABLE
    step = _clock_step(sides, metric)
    if step is not None and _is_lost_in(step, estimate, kind, terms.threshold_pct):
        kind, reason = VerdictKind.INCONCLUSIVE, Reason.CLOCK_STEP
        detail = f"the clock has steps of {format_significant(100 * step, 2)} % of the median"
    effective = [sum(one.effective_n for one in side if one) for side in summaries]
    samples = [sum(one.n for one in side if one) for side in summaries]
    return Verdict(
        metric=metric,
        kind=kind,
        reason=reason,
        a=middle_of(used[0]),
        b=middle_of(used[1]),
        estimate=estimate,
        threshold_pct=terms.threshold_pct,
        samples_a=samples[0],
        samples_b=samples[1],
        effective_a=effective[0],
        effective_b=effective[1],
        processes_a=len(sides[0]),
        processes_b=len(sides[1]),
        more=_more(estimate, terms) if reason is Reason.INTERVAL_TOO_WIDE else None,
        detail=detail,
        corrected_ratio=corrected_ratio(estimate, terms.threshold_pct)
        if estimate.method == "rounds" and kind in (VerdictKind.FASTER, VerdictKind.SLOWER)
        else None,
    )


def _estimate(
    sides: Sides, metric: str, medians: Sequence[Sequence[float]], terms: CompareConfig
) -> tuple[RatioEstimate, Sequence[Sequence[float]]]:
    """Return the ratio, and the medians of each side that it comes from."""
    rounds = rounds_of(sides, medians)
    if rounds is not None:
        known = rounds_of(sides, [uncertainties_pct(side, metric) for side in sides])
        assert known is not None
        return ratio_of_counting_rounds(rounds, known, confidence=terms.confidence)
    found = ratio_of_few_processes(medians[0], medians[1], confidence=terms.confidence)
    if found.interval is not None:
        return found, medians
    series = [[view.run.series(metric) for view in side] for side in sides]
    first, second = ([one.values_ms for one in side if one is not None] for side in series)
    estimate = ratio_by_scatter(
        first, second, scatter=terms.scatter, confidence=max(terms.confidence, 0.95)
    )
    return estimate, medians


def _more(estimate: RatioEstimate, terms: CompareConfig) -> int | None:
    """Return how many more units would decide it: samples do not tell how processes scatter."""
    scatter = math.sqrt(2) * terms.scatter if estimate.method == "samples" else 0.0
    return more_needed(estimate, terms.threshold_pct, scatter=scatter)


def _is_lost_in(
    step: float, estimate: RatioEstimate, kind: VerdictKind, threshold_pct: float
) -> bool:
    """Whether steps of that share of the median leave nothing to say of a difference.

    Two that are the same differ by less than any step; a fine one leaves them the same. A step
    within a wider interval is not what leaves a verdict open.
    """
    if abs(math.log(estimate.ratio)) >= math.log1p(step):
        return False
    if estimate.interval is None:
        return True
    low, high = math.log(estimate.interval.low), math.log(estimate.interval.high)
    if kind is VerdictKind.SAME:
        return max(-low, high) + math.log1p(step) >= math.log1p(threshold_pct / 100)
    return (high - low) / 2 <= math.log1p(step)


def _clock_step(sides: Sides, metric: str) -> float | None:
    """Return the coarsest step in which either side's times come, as a share of its median."""
    steps = []
    for view in (one for side in sides for one in side):
        samples = view.run.series(metric)
        step = quantum(samples.values_ms) if samples is not None and len(samples) else None
        median = float(np.median(samples.values_ms)) if samples is not None else 0.0
        if step is not None and median > 0:
            steps.append(step / median)
    return max(steps, default=None)
