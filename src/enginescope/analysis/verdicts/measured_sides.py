"""Compare two or more measured sides with the first, and rank three or more of them.

The recorded noise floor that holds for a comparison, and what it lets it decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

from enginescope.analysis.runs.run_view import Runs
from enginescope.analysis.verdicts.comparability import (
    CONDITIONS,
    CompareConfig,
    Difference,
    check_pct,
    differences,
)
from enginescope.analysis.verdicts.evidence_levels import is_printed_only, printed_verdicts
from enginescope.analysis.verdicts.verdicts import verdicts
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, Result, replace
from enginescope.judge.comparison.looks import LOOK_CONFIDENCE, LOOKS
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from enginescope.records.progress import RoundPlan
from enginescope.records.run.rounds import plan_of, recorded_tally
from enginescope.records.run.run import Run
from enginescope.records.verdict.noise import NoiseFloor


def fitting_floor(sides: Sequence[Runs], floors: Sequence[NoiseFloor]) -> NoiseFloor | None:
    """Return the floor of the machine and backend that `sides` ran on.

    Of several models the one that was compared, else the noisiest; of sides with floors of their
    own the noisier. ``None`` where a side has none, or the sides ran on more than one machine.
    """
    runs = [run for side in sides for run in side]
    machines = {run.environment.comparable_key() for run in runs}
    if len(machines) != 1:
        return None
    here = [floor for floor in floors if floor.environment in machines]
    known = [floor for side in sides if (floor := _of_side(side, here)) is not None]
    return max(known, key=lambda one: one.scatter_pct) if len(known) == len(sides) else None


def _of_side(runs: Runs, floors: Sequence[NoiseFloor]) -> NoiseFloor | None:
    job = runs[0].job
    fitting = [floor for floor in floors if floor.backend == job.backend.name]
    same = [one for one in fitting if one.model == job.subject.name]
    return max(same or fitting, key=lambda one: one.scatter_pct, default=None)


def floor_pct(floor: NoiseFloor, estimate: RatioEstimate) -> float | None:
    """Return the smallest difference in percent that a comparison of this kind can decide.

    Of interleaved processes: with the most rounds of the default. Of others: what is left
    of their scatter with so many of them.
    """
    if estimate.method == "rounds":
        full = [one.difference_pct for one in floor.decidable if one.rounds == LOOKS[-1]]
        return full[0] if full else None
    count = 1 if estimate.method == "samples" else min(estimate.n_a, estimate.n_b)
    apart = math.sqrt(2 / count) * math.log1p(floor.scatter_pct / 100)
    return 100 * math.expm1(apart)


class MeasuredSide(Record, frozen=True, kw_only=True, eq=False):
    """What stands on one side of a comparison.

    Attributes:
        label: ``"A"``, ``"B"``, …
        runs: Its processes, failed ones included.
    """

    label: str
    name: str
    runs: tuple[Run, ...]

    @property
    def measured(self) -> tuple[Run, ...]:
        """The processes that went well."""
        return tuple(run for run in self.runs if run.is_ok)


class MeasuredPair(Record, frozen=True, kw_only=True):
    """A side against the first.

    Attributes:
        a, b: Labels.
        verdicts: The headline first.
        meant: Conditions in which they differ because the comparison is of just that.
        differing: Other conditions in which they differ: those that make them incomparable.
    """

    a: str
    b: str
    verdicts: tuple[Verdict, ...]
    meant: tuple[Difference, ...] = ()
    differing: tuple[Difference, ...] = ()

    @property
    def headline(self) -> Verdict:
        """The verdict that the comparison is about."""
        return self.verdicts[0]


class MeasuredComparison(Result, Record, frozen=True, kw_only=True, eq=False):
    """Measured runs by side, with a verdict on each pair of sides.

    Attributes:
        pairs: Every side but the first, against the first.
        other_pairs: Every two sides of which neither is the first.
        comparison: Of the `RoundPosition`s, where the sides were interleaved.
        floor: What this machine was seen to be able to decide.
    """

    sides: tuple[MeasuredSide, ...]
    pairs: tuple[MeasuredPair, ...]
    threshold_pct: float
    comparison: str | None = None
    floor: NoiseFloor | None = None
    other_pairs: tuple[MeasuredPair, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether every pair's headline is."""
        return all(pair.headline.is_decided for pair in self.pairs)

    @property
    def is_final(self) -> bool:
        """Whether more processes of the same builds would not change what it says."""
        headlines = (pair.headline for pair in self.pairs)
        return all(it.is_decided or it.reason is Reason.BUILD_SPREAD for it in headlines)

    @property
    def is_vain(self) -> bool:
        """Whether no number of rounds would tell anything of some pair."""
        return any(pair.headline.kind is VerdictKind.INCOMPARABLE for pair in self.pairs)


def comparison_of(sides: Sequence[MeasuredSide]) -> str | None:
    """Return the comparison that all processes are of, if they were interleaved."""
    names = {run.turn.comparison if run.turn else None for side in sides for run in side.runs}
    return names.pop() if len(names) == 1 else None


def recorded_plan(sides: Sequence[MeasuredSide]) -> RoundPlan | None:
    """Return what the comparison was started with that all processes are of."""
    return plan_of([side.runs for side in sides]) if comparison_of(sides) is not None else None


def looks_confidence(sides: Sequence[MeasuredSide]) -> float:
    """Return the confidence of an interval of interleaved sides at their look."""
    tally = recorded_tally([side.runs for side in sides])
    return LOOK_CONFIDENCE if tally is None else tally.confidence


def meant_conditions(a: MeasuredSide, b: MeasuredSide) -> tuple[str, ...]:
    """Return keys of conditions that differ because two jobs were put side by side for it.

    Of sides interleaved, whose jobs stood on one command line: their backends where these are
    not one, the precision where backends, their options or the models are not the same.
    """
    if comparison_of((a, b)) is None:
        return ()
    first, second = a.runs[0].job, b.runs[0].job
    keys = ["backend"] if first.backend.name != second.backend.name else []
    if first.backend != second.backend or first.subject != second.subject:
        keys.append("precision")
    return tuple(keys)


def compare_sides(
    sides: Sequence[MeasuredSide],
    terms: CompareConfig | None = None,
    floors: Sequence[NoiseFloor] = (),
) -> MeasuredComparison:
    """Compare every side with the first.

    Args:
        sides: Two or more.
        terms: Interleaved sides have at least the confidence of their looks.
        floors: Recorded ones; the one that fits says how processes scatter, unless `terms` does.
    """
    terms = terms or CompareConfig()
    check_pct("threshold", terms.threshold_pct, 100)
    comparison = comparison_of(sides)
    floor = fitting_floor([side.runs for side in sides], floors)
    if comparison is not None:
        terms = replace(terms, confidence=max(terms.confidence, looks_confidence(sides)))
    if terms.scatter_pct is None and floor is not None:
        terms = replace(terms, scatter_pct=floor.scatter_pct)
    base, *others = sides
    return MeasuredComparison(
        sides=tuple(sides),
        pairs=tuple(_known_pair(base, other, terms) for other in others),
        other_pairs=tuple(filter(None, (_pair(*two, terms) for two in combinations(others, 2)))),
        threshold_pct=terms.threshold_pct,
        comparison=comparison,
        floor=floor,
    )


def _known_pair(a: MeasuredSide, b: MeasuredSide, terms: CompareConfig) -> MeasuredPair:
    found = _pair(a, b, terms)
    if found is None:
        failed = next((side for side in (a, b) if not side.measured), None)
        if failed is not None:
            why = failed.runs[-1].outcome.message
            raise UsageError(f"{failed.label} has no run that succeeded", why=why)
        raise UsageError(
            f"{a.label} and {b.label} have no figure in common",
            why="their runs have no samples and no printed figures of the same kind",
            hint="enginescope bench measures them",
        )
    return found


def _pair(a: MeasuredSide, b: MeasuredSide, terms: CompareConfig) -> MeasuredPair | None:
    """Return side B against side A; ``None`` where they have no figure in common.

    Who compares two precisions means their difference.
    """
    across = tuple(dict.fromkeys((*terms.across, *meant_conditions(a, b), "precision")))
    compare = printed_verdicts if any(is_printed_only(side.runs) for side in (a, b)) else verdicts
    found = compare(a.runs, b.runs, replace(terms, across=across))
    if not found:
        return None
    others = [one for one in CONDITIONS if one not in across]
    meant = differences(a.measured, b.measured, across=others)
    differing = differences(a.measured, b.measured, across=across)
    headline, *beside = found
    secondary = [replace(one, is_tested=one.reason is Reason.EXACT) for one in beside]
    return MeasuredPair(
        a=a.label, b=b.label, verdicts=(headline, *secondary), meant=meant, differing=differing
    )


class RankedSide(Record, frozen=True, kw_only=True):
    """One side in a ranking.

    Attributes:
        label: ``"A"``, ``"B"``, …
        rank: One more than the number of sides that are decidedly better.
        value: Median of its processes, in the unit of the metric.
        estimate: This side ÷ the best side; ``None`` of the best side.
        same: Labels of sides from which it differs by no more than the threshold.
        open: Labels of sides against which its verdict is inconclusive.
    """

    label: str
    rank: int
    value: float | None
    estimate: RatioEstimate | None
    same: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class Ranking(Record, frozen=True, kw_only=True):
    """Sides by the metric that the comparison is about.

    Attributes:
        sides: The best first.
        left_out: Label of each side without a rank, and why.
    """

    metric: str
    sides: tuple[RankedSide, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def ranking_of(comparison: MeasuredComparison) -> Ranking | None:
    """Return the ranking of a comparison; ``None`` where fewer than three sides have verdicts.

    A side is better than another if a verdict says so, or by way of sides between them. Sides of
    one rank are not distinguished.
    """
    base = comparison.sides[0].label
    headlines = {(one.a, one.b): one.headline for one in comparison.pairs}
    headlines |= {(one.a, one.b): one.headline for one in comparison.other_pairs}
    headlines |= {(b, a): _turned(headline) for (a, b), headline in headlines.items()}
    metric = comparison.pairs[0].headline.metric
    labels: list[str] = []
    left_out: list[tuple[str, str]] = []
    for side in comparison.sides:
        whys = [_obstacle(headlines.get((one, side.label)), metric) for one in labels]
        why = next(filter(None, whys), None)
        if why is None:
            labels.append(side.label)
        else:
            left_out.append((side.label, why))
    if len(labels) < 3:  # a ranking of fewer is a verdict
        return None
    better = _better(labels, headlines)
    ranks = {b: 1 + sum((a, b) in better for a in labels) for b in labels}
    higher = headlines[base, labels[1]].higher_is_better

    def place(label: str) -> tuple[int, float]:
        estimate = headlines[base, label].estimate if label != base else None
        ratio = estimate.ratio if estimate else 1.0
        return ranks[label], -ratio if higher else ratio

    ordered = sorted(labels, key=place)
    return Ranking(
        metric=metric,
        sides=tuple(_ranked(label, ranks[label], ordered, headlines) for label in ordered),
        left_out=tuple(left_out),
    )


def _obstacle(headline: Verdict | None, metric: str) -> str | None:
    if headline is None or headline.metric != metric:
        return "no figure in common with the others"
    if headline.kind is VerdictKind.INCOMPARABLE:
        return f"not comparable: {headline.detail}"
    if headline.estimate is None:
        return "printed figures have no interval"
    return None


def _ranked(
    label: str, rank: int, ordered: Sequence[str], headlines: dict[tuple[str, str], Verdict]
) -> RankedSide:
    first = ordered[0]
    others = {other: headlines[label, other] for other in ordered if other != label}
    same, inconclusive = (
        tuple(other for other, headline in others.items() if headline.kind is kind)
        for kind in (VerdictKind.SAME, VerdictKind.INCONCLUSIVE)
    )
    return RankedSide(
        label=label,
        rank=rank,
        value=next(iter(others.values())).a,
        estimate=headlines[first, label].estimate if label != first else None,
        same=same,
        open=inconclusive,
    )


def _better(
    labels: Sequence[str], headlines: dict[tuple[str, str], Verdict]
) -> set[tuple[str, str]]:
    """Return who is better than whom; verdicts that form a circle say nothing."""
    better = {
        (a, b)
        for a, b in product(labels, repeat=2)
        if a != b and headlines[a, b].kind is VerdictKind.SLOWER
    }
    for between, a, b in product(labels, repeat=3):
        if (a, between) in better and (between, b) in better:
            better.add((a, b))
    return {(a, b) for a, b in better if (b, a) not in better}


def _turned(verdict: Verdict) -> Verdict:
    estimate = verdict.estimate
    if estimate is not None:
        interval = estimate.interval
        estimate = replace(
            estimate,
            ratio=1 / estimate.ratio,
            interval=interval and replace(interval, low=1 / interval.high, high=1 / interval.low),
            n_a=estimate.n_b,
            n_b=estimate.n_a,
        )
    turned = {VerdictKind.FASTER: VerdictKind.SLOWER, VerdictKind.SLOWER: VerdictKind.FASTER}
    kind = turned.get(verdict.kind, verdict.kind)
    return replace(verdict, kind=kind, a=verdict.b, b=verdict.a, estimate=estimate)
