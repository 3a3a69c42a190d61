"""Rank three or more measured sides: the fastest first, with ties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.core.record import Record, replace
from enginescope.judge.verdict import RatioEstimate, Verdict, VerdictKind

#: A ranking of fewer sides is a verdict.
_FEWEST = 3


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
    headlines = dict(_both_ways((*comparison.pairs, *comparison.other_pairs)))
    metric = comparison.pairs[0].headline.metric
    labels: list[str] = []
    left_out: list[tuple[str, str]] = []
    for side in comparison.sides:
        why = next(
            (why for one in labels if (why := _obstacle(headlines.get((one, side.label)), metric))),
            None,
        )
        if why is None:
            labels.append(side.label)
        else:
            left_out.append((side.label, why))
    if len(labels) < _FEWEST:
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
    """Return why a verdict gives no rank."""
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
    kinds = {other: headline.kind for other, headline in others.items()}
    return RankedSide(
        label=label,
        rank=rank,
        value=next(iter(others.values())).a,
        estimate=headlines[first, label].estimate if label != first else None,
        same=tuple(other for other, kind in kinds.items() if kind is VerdictKind.SAME),
        open=tuple(other for other, kind in kinds.items() if kind is VerdictKind.INCONCLUSIVE),
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


def _both_ways(pairs: Sequence[MeasuredPair]) -> Iterator[tuple[tuple[str, str], Verdict]]:
    for pair in pairs:
        yield (pair.a, pair.b), pair.headline
        yield (pair.b, pair.a), _turned(pair.headline)


_TURNED = {VerdictKind.FASTER: VerdictKind.SLOWER, VerdictKind.SLOWER: VerdictKind.FASTER}


def _turned(verdict: Verdict) -> Verdict:
    """Return the verdict on A against B from that on B against A."""
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
    kind = _TURNED.get(verdict.kind, verdict.kind)
    return replace(verdict, kind=kind, a=verdict.b, b=verdict.a, estimate=estimate)
