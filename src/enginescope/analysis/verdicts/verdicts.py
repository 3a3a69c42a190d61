"""Compare two sides of one or several processes with each other, metric by metric.

The processes of two sides round by round, and what each knows of its own median.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from enginescope.analysis.claims.run_claims import needed_in_each
from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts.build_spread import withheld
from enginescope.analysis.verdicts.comparability import CompareConfig, differences, same_computation
from enginescope.analysis.verdicts.compared_figures import (
    COMPARED_SERIES,
    FIGURES,
    Figure,
    figure_of,
)
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison import ratio, run_to_run
from enginescope.judge.comparison.steady_rounds import uncertainty_pct
from enginescope.judge.stats.describe import percentile_of_stretches
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
    estimate = run_to_run.allow_for_sessions(estimate, terms.sessions)
    kind, reason, detail = run_to_run.decide_sides(estimate, used, terms.threshold_pct)
    if reason is Reason.INTERVAL_TOO_WIDE and run_to_run.is_open_for_sessions(
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
    more = None
    if reason is Reason.INTERVAL_TOO_WIDE:  # samples do not tell how processes scatter
        scatter = math.sqrt(2) * terms.scatter if estimate.method == "samples" else 0.0
        more = ratio.more_needed(estimate, terms.threshold_pct, scatter=scatter)
    return Verdict(
        metric=metric,
        kind=kind,
        reason=reason,
        a=ratio.middle_of(used[0]),
        b=ratio.middle_of(used[1]),
        estimate=estimate,
        threshold_pct=terms.threshold_pct,
        samples_a=samples[0],
        samples_b=samples[1],
        effective_a=effective[0],
        effective_b=effective[1],
        processes_a=len(sides[0]),
        processes_b=len(sides[1]),
        more=more,
        detail=detail,
        corrected_ratio=ratio.corrected_ratio(estimate, terms.threshold_pct)
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
        return ratio.ratio_of_counting_rounds(rounds, known, confidence=terms.confidence)
    found = ratio.ratio_of_few_processes(medians[0], medians[1], confidence=terms.confidence)
    if found.interval is not None:
        return found, medians
    series = [[view.run.series(metric) for view in side] for side in sides]
    first, second = ([one.values_ms for one in side if one is not None] for side in series)
    sure = max(terms.confidence, 0.95)
    return ratio.ratio_by_scatter(first, second, scatter=terms.scatter, confidence=sure), medians


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


def figure_verdict(sides: Sides, figure: Figure, terms: CompareConfig) -> Verdict | None:
    """Compare a figure that each process has one of; ``None`` where one has none."""
    if figure.of_build:
        sides = _each_build(sides[0]), _each_build(sides[1])
    if figure.percentile is not None:
        return _tail(sides, figure, figure.percentile, terms)
    values = [[figure.of(view) for view in side] for side in sides]
    known = [[one for one in side if one is not None] for side in values]
    if any(len(side) < len(row) for side, row in zip(known, values, strict=True)):
        return None
    if any(one <= 0 for side in known for one in side):
        return None
    verdict = _open(figure, known, terms)
    if not figure.is_exact:
        return _repeated(verdict, sides, known, terms)
    middles = ratio.middle_of(known[0]), ratio.middle_of(known[1])
    distance, kind = math.log(middles[1] / middles[0]), VerdictKind.SAME
    if abs(distance) > math.log1p(verdict.threshold_pct / 100):
        better = (distance > 0) is verdict.higher_is_better
        kind = VerdictKind.FASTER if better else VerdictKind.SLOWER
    return replace(verdict, kind=kind, reason=Reason.EXACT)


def _open(figure: Figure, known: Sequence[Sequence[float]], terms: CompareConfig) -> Verdict:
    return Verdict(
        metric=figure.name,
        kind=VerdictKind.INCONCLUSIVE,
        reason=Reason.ONE_VALUE,
        a=ratio.middle_of(known[0]),
        b=ratio.middle_of(known[1]),
        threshold_pct=terms.threshold_pct,
        processes_a=len(known[0]),
        processes_b=len(known[1]),
        higher_is_better=figure.higher_is_better,
    )


def _tail(sides: Sides, figure: Figure, p: float, terms: CompareConfig) -> Verdict | None:
    """Compare a percentile of the latency; ``None`` where a process has no latency.

    Each process gives its percentile over stretches of equal length, so that the number of samples
    cannot make a difference. The interval comes from how these values scatter between processes,
    which holds for any number of samples and however they depend on each other.
    """
    series = [[view.run.headline for view in side] for side in sides]
    if any(one is None or not len(one) for side in series for one in side):
        return None
    samples = [[one.values_ms for one in side if one is not None] for side in series]
    shortest = min(values.size for side in samples for values in side)
    known = [[percentile_of_stretches(values, p, shortest) for values in side] for side in samples]
    verdict = replace(
        _open(figure, known, terms),
        samples_a=sum(values.size for values in samples[0]),
        samples_b=sum(values.size for values in samples[1]),
    )
    least = needed_in_each(p, min(map(len, samples)))
    if shortest < least:
        return replace(
            verdict,
            a=None,
            b=None,
            reason=Reason.FEW_SAMPLES,
            detail=f"{shortest:,} samples in a process are too few for p{p:g}; "
            f"measure at least {least:,} in each",
        )
    return _repeated(verdict, sides, known, terms)


def _each_build(side: Side) -> Side:
    """Return one process for each build: a kept engine's figures are those of its one build."""
    builds = {
        (one.run.build.engine, one.run.build.build_ms) if one.run.build else None: one
        for one in reversed(side)
    }
    return tuple(reversed(builds.values()))


def _repeated(
    verdict: Verdict, sides: Sides, known: Sequence[Sequence[float]], terms: CompareConfig
) -> Verdict:
    rounds = rounds_of(sides, known)
    if rounds is not None:
        estimate = ratio.ratio_of_rounds(*rounds, confidence=terms.confidence)
        verdict = replace(verdict, a=ratio.middle_of(rounds[0]), b=ratio.middle_of(rounds[1]))
    else:
        estimate = ratio.ratio_of_few_processes(known[0], known[1], confidence=terms.confidence)
    estimate = run_to_run.allow_for_sessions(estimate, terms.sessions)
    if estimate.interval is None:
        single = max(map(len, known)) == 1
        reason = Reason.ONE_VALUE if single else Reason.NO_INTERVAL
        return replace(verdict, estimate=estimate, reason=reason)
    threshold_pct, higher = terms.threshold_pct, verdict.higher_is_better
    kind, reason = ratio.decide(estimate, threshold_pct, higher_is_better=higher)
    more = None
    if run_to_run.is_open_for_sessions(estimate, terms.sessions, threshold_pct):
        reason = Reason.SESSIONS
    elif kind is VerdictKind.INCONCLUSIVE:
        more = ratio.more_needed(estimate, threshold_pct)
    return replace(verdict, kind=kind, reason=reason, estimate=estimate, more=more)


def verdicts(a: Runs, b: Runs, terms: CompareConfig | None = None) -> tuple[Verdict, ...]:
    """Return what may be said of B against A: the headline first, then every other figure.

    Args:
        a, b: The processes of either side. Where each has a `RoundPosition` of one comparison, they
            are taken round by round.
    """
    terms = terms or CompareConfig()
    sides = _measured(a, "A"), _measured(b, "B")
    headline = sides[0][0].run.headline
    first = (headline.metric,) if headline is not None else ()
    metrics = dict.fromkeys((*first, *COMPARED_SERIES))
    detail = _detail(sides, terms)
    return tuple(
        verdict
        for metric in (*metrics, *(figure.name for figure in FIGURES))
        if (verdict := _verdict(sides, metric, terms, detail)) is not None
    )


def verdict_on(a: Runs, b: Runs, metric: str, terms: CompareConfig) -> Verdict | None:
    """Return the verdict on one metric, as `verdicts` has it; ``None`` where a side lacks it."""
    sides = _measured(a, "A"), _measured(b, "B")
    return _verdict(sides, metric, terms, _detail(sides, terms))


def _detail(sides: Sides, terms: CompareConfig) -> str | None:
    """Return the conditions that keep two sides from being compared."""
    first, second = ([view.run for view in side] for side in sides)
    found = [*map(str, differences(first, second, across=terms.across))]
    return "; ".join(filter(None, (*found, same_computation(first, second)))) or None


def _verdict(sides: Sides, metric: str, terms: CompareConfig, detail: str | None) -> Verdict | None:
    figure = figure_of(metric)
    if figure is None:
        verdict = series_verdict(sides, metric, terms)
    else:
        verdict = figure_verdict(sides, figure, terms)
    if verdict is None:
        return None
    a, b = ([view.run for view in side] for side in sides)
    verdict = replace(verdict, evidence=evidence_level(a, b))
    if not detail:
        return withheld(verdict, a, b, terms.spreads)
    kind, reason = VerdictKind.INCOMPARABLE, Reason.DIFFERENT
    return replace(verdict, kind=kind, reason=reason, detail=detail, more=None)


def _measured(runs: Runs, label: str) -> tuple[RunView, ...]:
    good = tuple(RunView(run) for run in runs if run.is_ok)
    if not good:
        why = runs[0].outcome.message if runs else None
        raise UsageError(f"nothing of {label} to compare", why=why or "no run succeeded")
    return good
