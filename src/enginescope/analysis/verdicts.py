"""Two sides of one or several processes, held against each other metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from enginescope.analysis.comparability import differences
from enginescope.analysis.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.units import format_significant
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from enginescope.stats.deciding import decide, more_needed
from enginescope.stats.quantum import quantum
from enginescope.stats.ratio import ratio_of_processes, ratio_of_rounds, ratio_of_samples
from enginescope.stats.stability import WIDE_PCT
from enginescope.stats.steady_rounds import steady_rounds

T = TypeVar("T")

#: What two processes of the same work are taken to differ by where nothing is known of it: half the
#: width of a 95 % interval, in percent. It covers standard deviations of 2 %; with less, processes
#: of such a scatter differ in a quarter of comparisons. ``enginescope noise`` measures it.
ASSUMED_SCATTER_PCT = 5.0
#: Fewer processes a side cannot tell how processes scatter.
ENOUGH_PROCESSES = 4
#: Sampled series that get a verdict beside the headline.
_SERIES = ("gpu_compute",)


class Terms(Record, frozen=True, kw_only=True):
    """What a comparison is held to.

    Attributes
    ----------
    threshold_pct : float
        Smaller differences do not matter.
    across : tuple of str
        Conditions whose difference is meant.
    scatter_pct : float or None
        What processes of the same work differ by, as measured on this machine; ``None``: assumed.
    confidence : float
        Of each interval.
    """

    threshold_pct: float = 1.0
    across: tuple[str, ...] = ()
    scatter_pct: float | None = None
    confidence: float = 0.95


class Figure(Record, frozen=True, kw_only=True):
    """A figure that a run has one of.

    Attributes
    ----------
    name, title : str
    unit : {"ms", "B", "/s", "J"}
    of : callable
        From a `RunView` to the figure, or ``None``.
    is_exact : bool
        It comes out the same each time, so that any difference is one.
    of_build : bool
        It is the engine's: processes that ran the engine of one build have it once together.
    """

    name: str
    title: str
    unit: str
    of: Callable[[RunView], float | None]
    is_exact: bool = False
    of_build: bool = False
    higher_is_better: bool = False


def _phase(name: str) -> Callable[[RunView], float | None]:
    return lambda view: view.run.phase_ms(name)


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="throughput",
        title="Throughput",
        unit="/s",
        of=lambda view: view.throughput_per_s,
        higher_is_better=True,
    ),
    Figure(
        name="first_inference", title="First inference", unit="ms", of=_phase("first_inference")
    ),
    Figure(name="load", title="Load", unit="ms", of=_phase("load")),
    Figure(
        name="build",
        title="Build",
        unit="ms",
        of=lambda view: view.run.build.build_ms if view.run.build else None,
        of_build=True,
    ),
    Figure(
        name="peak_memory",
        title="Peak host memory",
        unit="B",
        of=lambda view: view.run.peak_memory_bytes,
    ),
    Figure(
        name="device_memory",
        title="Device memory",
        unit="B",
        of=lambda view: view.run.device_memory.process_bytes if view.run.device_memory else None,
    ),
    Figure(
        name="energy",
        title="Energy of a request",
        unit="J",
        of=lambda view: view.energy.joules if view.energy else None,
    ),
    Figure(
        name="engine_size",
        title="Engine size",
        unit="B",
        of=lambda view: _engine_bytes(view.run),
        is_exact=True,
    ),
)


def verdicts(
    a: Sequence[Run],
    b: Sequence[Run],
    terms: Terms | None = None,
    *,
    figures: Sequence[Figure] = FIGURES,
) -> tuple[Verdict, ...]:
    """Return what may be said of B against A: the headline first, then every other figure.

    Parameters
    ----------
    a, b : sequence of Run
        The processes of either side. Where each has a `Turn` of one comparison, they are taken
        round by round.
    terms : Terms, optional
    figures : sequence of Figure
        What is compared beside the sampled series.

    Raises
    ------
    UsageError
        A side without a run that went well, or a condition in ``terms.across`` that there is not.
    """
    terms = terms or Terms()
    sides = _measured(a, "A"), _measured(b, "B")
    found = differences(*[[one.run for one in side] for side in sides], across=terms.across)
    detail = "; ".join(map(str, found)) or None
    made = [_of_series(sides, metric, terms) for metric in _metrics(sides)]
    made += [_of_figure(sides, figure, terms) for figure in figures]
    every = [one for one in made if one is not None]
    return tuple(_incomparable(one, detail) if detail else one for one in every)


Sides = tuple[tuple[RunView, ...], tuple[RunView, ...]]


def _measured(runs: Sequence[Run], label: str) -> tuple[RunView, ...]:
    good = tuple(RunView(one) for one in runs if one.outcome.kind is OutcomeKind.OK)
    if not good:
        why = runs[0].outcome.message if runs else None
        raise UsageError(f"nothing of {label} to compare", why=why or "no run went well")
    return good


def _metrics(sides: Sides) -> list[str]:
    headlines = [one.run.headline for side in sides for one in side]
    first = [one.metric for one in headlines[:1] if one is not None]
    return list(dict.fromkeys((*first, *_SERIES)))


def _of_series(sides: Sides, metric: str, terms: Terms) -> Verdict | None:
    """Compare the medians of a sampled metric; ``None`` where a process did not take it."""
    summaries = [[view.summary(metric) for view in side] for side in sides]
    if any(one is None for side in summaries for one in side):
        return None
    medians = [[one.median_ms for one in side if one] for side in summaries]
    if any(one <= 0 for side in medians for one in side):
        return None
    estimate = _estimate(sides, metric, medians, terms)
    kind, reason = decide(estimate, terms.threshold_pct)
    if kind is VerdictKind.UNDECIDED and _is_unstable(sides, metric):
        reason = Reason.UNSTABLE
    step = _clock_step(sides, metric)
    detail = None
    if step is not None and abs(math.log(estimate.ratio)) < math.log1p(step):
        kind, reason = VerdictKind.UNDECIDED, Reason.CLOCK_STEP
        detail = f"times come in steps of {format_significant(100 * step, 2)} % of the median"
    effective = [sum(one.effective_n for one in side if one) for side in summaries]
    samples = [sum(one.n for one in side if one) for side in summaries]
    return Verdict(
        metric=metric,
        kind=kind,
        reason=reason,
        a=float(np.median(medians[0])),
        b=float(np.median(medians[1])),
        estimate=estimate,
        threshold_pct=terms.threshold_pct,
        samples_a=samples[0],
        samples_b=samples[1],
        effective_a=effective[0],
        effective_b=effective[1],
        processes_a=len(medians[0]),
        processes_b=len(medians[1]),
        more=_more(estimate, terms) if reason is Reason.INTERVAL_TOO_WIDE else None,
        detail=detail,
    )


def _estimate(
    sides: Sides, metric: str, medians: Sequence[Sequence[float]], terms: Terms
) -> RatioEstimate:
    rounds = _rounds(sides, medians)
    if rounds is not None:
        return _of_rounds(sides, metric, rounds, terms)
    if min(map(len, medians)) >= ENOUGH_PROCESSES:
        return ratio_of_processes(*medians, confidence=terms.confidence)
    if max(map(len, medians)) > 1:
        return ratio_of_processes(*medians, confidence=0.95)  # too few for an interval
    first, second = ([view.run.series(metric) for view in side] for side in sides)
    assert first[0] is not None
    assert second[0] is not None
    return ratio_of_samples(first[0].values_ms, second[0].values_ms, scatter=_scatter(terms))


def _of_rounds(
    sides: Sides, metric: str, medians: tuple[list[float], list[float]], terms: Terms
) -> RatioEstimate:
    """Return the ratio over the rounds in which no process was disturbed."""
    known = _rounds(sides, [[_uncertainty_pct(view, metric) for view in side] for side in sides])
    assert known is not None
    steady = steady_rounds(known)
    a, b = ([one for one, counts in zip(side, steady, strict=True) if counts] for side in medians)
    found = ratio_of_rounds(a, b, confidence=terms.confidence)
    return replace(found, left_out=len(steady) - len(a))


def _uncertainty_pct(view: RunView, metric: str) -> float | None:
    summary = view.summary(metric)
    interval = summary.median_interval if summary else None
    return interval.half_width_pct if interval else None


def _is_unstable(sides: Sides, metric: str) -> bool:
    """Whether the medians of half of the processes of a side are hardly known."""
    known = ([_uncertainty_pct(view, metric) for view in side] for side in sides)
    wide = ([one is not None and one > WIDE_PCT for one in side] for side in known)
    return any(2 * sum(side) >= len(side) for side in wide)


def _scatter(terms: Terms) -> float:
    known = ASSUMED_SCATTER_PCT if terms.scatter_pct is None else terms.scatter_pct
    return math.log1p(known / 100)


def _more(estimate: RatioEstimate, terms: Terms) -> int | None:
    """Return how many more units would decide it: samples do not tell how processes scatter."""
    scatter = math.sqrt(2) * _scatter(terms) if estimate.method == "samples" else 0.0
    return more_needed(estimate, terms.threshold_pct, scatter=scatter)


def _rounds(sides: Sides, figures: Sequence[Sequence[T]]) -> tuple[list[T], list[T]] | None:
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


def _of_figure(sides: Sides, figure: Figure, terms: Terms) -> Verdict | None:
    """Compare a figure that each process has one of; ``None`` where one has none."""
    if figure.of_build:
        sides = _each_build(sides[0]), _each_build(sides[1])
    values = [[figure.of(view) for view in side] for side in sides]
    known = [[one for one in side if one is not None] for side in values]
    if any(len(side) < len(row) for side, row in zip(known, values, strict=True)):
        return None
    if any(one <= 0 for side in known for one in side):
        return None
    made = Verdict(
        metric=figure.name,
        kind=VerdictKind.UNDECIDED,
        reason=Reason.ONE_VALUE,
        a=float(np.median(known[0])),
        b=float(np.median(known[1])),
        threshold_pct=terms.threshold_pct,
        processes_a=len(known[0]),
        processes_b=len(known[1]),
        higher_is_better=figure.higher_is_better,
    )
    return _exact(made) if figure.is_exact else _repeated(made, sides, known, terms)


def _each_build(side: tuple[RunView, ...]) -> tuple[RunView, ...]:
    """Return one process for each build: a kept engine's figures are those of its one build."""
    builds = {
        (one.run.build.engine, one.run.build.build_ms) if one.run.build else None: one
        for one in reversed(side)
    }
    return tuple(reversed(builds.values()))


def _exact(verdict: Verdict) -> Verdict:
    assert verdict.a is not None
    assert verdict.b is not None
    distance = math.log(verdict.b / verdict.a)
    kind = VerdictKind.SAME
    if abs(distance) > math.log1p(verdict.threshold_pct / 100):
        better = (distance > 0) is verdict.higher_is_better
        kind = VerdictKind.FASTER if better else VerdictKind.SLOWER
    return replace(verdict, kind=kind, reason=Reason.EXACT)


def _repeated(
    verdict: Verdict, sides: Sides, known: Sequence[Sequence[float]], terms: Terms
) -> Verdict:
    rounds = _rounds(sides, known)
    if rounds is not None:
        estimate = ratio_of_rounds(*rounds, confidence=terms.confidence)
    else:
        estimate = ratio_of_processes(*known, confidence=terms.confidence)
    if estimate.interval is None:
        single = max(map(len, known)) == 1
        reason = Reason.ONE_VALUE if single else Reason.NO_INTERVAL
        return replace(verdict, estimate=estimate, reason=reason)
    threshold_pct, higher = terms.threshold_pct, verdict.higher_is_better
    kind, reason = decide(estimate, threshold_pct, higher_is_better=higher)
    more = more_needed(estimate, threshold_pct) if kind is VerdictKind.UNDECIDED else None
    return replace(verdict, kind=kind, reason=reason, estimate=estimate, more=more)


def _incomparable(verdict: Verdict, detail: str) -> Verdict:
    return replace(
        verdict, kind=VerdictKind.INCOMPARABLE, reason=Reason.DIFFERENT, detail=detail, more=None
    )


def _engine_bytes(run: Run) -> float | None:
    if run.build is not None:
        return run.build.engine_bytes
    return run.job.subject.size_bytes if run.job.subject.kind == "engine" else None
