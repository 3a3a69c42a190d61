from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.verdicts import measured_sides
from enginescope.core.record import replace
from enginescope.judge.verdict import RatioEstimate, Reason, Verdict, VerdictKind
from enginescope.records.progress import RoundPosition
from enginescope.records.tensor import DataType, Tensor
from tests.analysis.in_turn import COMPARISON, named, process


def sides_of(*ratios: float, rounds: int = 12, noise: float = 0.002, **more):
    """Return sides measured in turn, with medians of these ratios; each with its own noise."""
    draw = np.random.default_rng(4)
    sides = [[] for _ in ratios]
    for number in range(rounds):
        for at, (label, ratio) in enumerate(zip("ABCD", ratios, strict=False)):
            turn = RoundPosition(comparison=COMPARISON, side=label, round=number, place=at)
            median = 2.0 * ratio * np.exp(noise * draw.standard_normal())
            sides[at].append(process(median, seed=10 * number + at, turn=turn, **more))
    return tuple(map(tuple, sides))


def ranked(*ratios: float, **more) -> measured_sides.Ranking | None:
    return measured_sides.ranking_of(
        measured_sides.compare_sides(named(*sides_of(*ratios, **more)))
    )


def test_the_fastest_is_first_and_sides_as_fast_share_a_rank() -> None:
    found = ranked(1.0, 1.2, 0.8)
    assert [(one.label, one.rank) for one in found.sides] == [("C", 1), ("A", 2), ("B", 3)]
    best, second, third = found.sides
    assert (best.estimate, second.estimate.ratio) == (None, pytest.approx(1.25, rel=0.01))
    assert third.estimate.ratio == pytest.approx(1.5, rel=0.01)
    for side in (second, third):
        interval = side.estimate.interval
        assert interval.low < side.estimate.ratio < interval.high
        assert interval.confidence == 0.99
    assert best.value == pytest.approx(1.6, rel=0.01)
    assert not any((*one.same, *one.open) for one in found.sides)
    found = ranked(1.002, 1.0, 0.8, 1.3)
    rows = [(one.label, one.rank, one.same) for one in found.sides]
    assert rows == [("C", 1, ()), ("B", 2, ("A",)), ("A", 2, ("B",)), ("D", 4, ())]


def test_sides_that_noise_does_not_tell_apart_or_that_are_not_comparable_have_no_rank() -> None:
    found = ranked(1.0, 1.02, 3.0, noise=0.05)
    assert [one.rank for one in found.sides] == [1, 1, 3]
    assert {one.open for one in found.sides[:2]} == {("A",), ("B",)}
    assert ranked(1.0, 1.2) is None
    found = ranked(1.0, 1.2, 0.8, rounds=3)
    assert {one.rank for one in found.sides} == {1}
    assert all(len(one.open) == 2 for one in found.sides)
    a, b, c, d = sides_of(1.0, 1.2, 0.8, 0.5)
    other = (Tensor(name="x", dtype=DataType.FP32, shape=(8, 3)),)
    d = tuple(replace(run, inputs=other) for run in d)
    found = measured_sides.ranking_of(measured_sides.compare_sides(named(a, b, c, d)))
    assert [one.label for one in found.sides] == ["C", "A", "B"]
    assert found.left_out == (("D", "not comparable: input shapes: 1×3 → 8×3"),)
    c = tuple(replace(run, inputs=other) for run in c)
    assert measured_sides.ranking_of(measured_sides.compare_sides(named(a, b, c, d))) is None


def planted(kinds: dict[tuple[str, str], VerdictKind]) -> measured_sides.Ranking:
    """Rank sides A, B, C, … by verdicts on the second of each pair against the first."""
    labels = sorted({label for pair in kinds for label in pair})
    pairs = []
    for a, b in combinations(labels, 2):
        estimate = RatioEstimate(ratio=1.0, interval=None, method="rounds", n_a=8, n_b=8)
        figures = {"a": 1.0, "b": 1.0, "estimate": estimate, "reason": Reason.BEYOND_THRESHOLD}
        headline = Verdict(metric="latency", kind=kinds[a, b], **figures)
        pairs.append(measured_sides.MeasuredPair(a=a, b=b, verdicts=(headline,)))
    first = [pair for pair in pairs if pair.a == labels[0]]
    others = [pair for pair in pairs if pair.a != labels[0]]
    sides = named(*([()] * len(labels)))
    found = {"pairs": tuple(first), "other_pairs": tuple(others), "threshold_pct": 1.0}
    return measured_sides.ranking_of(measured_sides.MeasuredComparison(sides=sides, **found))


def test_a_side_between_two_others_tells_them_apart_and_a_circle_ranks_nobody() -> None:
    slower, open_ = VerdictKind.SLOWER, VerdictKind.INCONCLUSIVE
    found = planted({("A", "B"): slower, ("B", "C"): slower, ("A", "C"): open_})
    ranks = [(one.label, one.rank, one.open) for one in found.sides]
    assert ranks == [("A", 1, ("C",)), ("B", 2, ()), ("C", 3, ("A",))]
    slower, faster = VerdictKind.SLOWER, VerdictKind.FASTER
    found = planted({("A", "B"): slower, ("B", "C"): slower, ("A", "C"): faster})
    assert [one.rank for one in found.sides] == [1, 1, 1]


KINDS = st.sampled_from(
    [VerdictKind.FASTER, VerdictKind.SLOWER, VerdictKind.SAME, VerdictKind.INCONCLUSIVE]
)


@given(st.lists(KINDS, min_size=6, max_size=6))
def test_no_rank_is_better_than_what_beat_it(kinds) -> None:
    pairs = dict(zip(combinations("ABCD", 2), kinds, strict=True))
    rank = {one.label: one.rank for one in planted(pairs).sides}
    better = {
        (b, a) if kind is VerdictKind.FASTER else (a, b)
        for (a, b), kind in pairs.items()
        if kind in (VerdictKind.FASTER, VerdictKind.SLOWER)
    }
    reached = set(better)
    for middle, a, b in product("ABCD", repeat=3):
        if (a, middle) in reached and (middle, b) in reached:
            reached.add((a, b))
    for a, b in better:
        assert rank[a] < rank[b] or (b, a) in reached
    assert 1 in rank.values()
