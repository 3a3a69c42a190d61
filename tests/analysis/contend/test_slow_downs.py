import numpy as np
import pytest

from enginescope.analysis.contend.slow_downs import contention_of, jain_index, sets_of
from enginescope.judge.verdict import VerdictKind
from enginescope.records.run.run import OutcomeKind
from enginescope.records.verdict.contend import ContendKind
from tests.analysis.contend.contended import FIELDS, report, rounds, run


def test_the_factor_is_found_with_an_interval_and_without_loss_there_is_none() -> None:
    assert list(sets_of(2)) == [("A",), ("B",), ("A", "B")]
    assert list(sets_of(3))[3:] == [("A", "B"), ("A", "C"), ("B", "C"), ("A", "B", "C")]
    assert len(list(sets_of(6))) == 22  # each has a letter as a side
    found = report({("A", "B"): 2.0, ("B", "A"): 1.25})
    slowed = found.slow_down("A", "B")
    assert slowed.factor.ratio == pytest.approx(2.0, rel=0.01)
    assert slowed.factor.interval.low < 2.0 < slowed.factor.interval.high
    assert slowed.kind is VerdictKind.SLOWER
    assert found.slow_down("B", "A").factor.ratio == pytest.approx(1.25, rel=0.01)
    assert found.kind is ContendKind.SLOWED
    found = report()
    assert found.kind is ContendKind.UNAFFECTED
    assert {slowed.kind for slowed in found.slow_downs} == {VerdictKind.SAME}
    assert found.sets[0].share.ratio == pytest.approx(1.0, rel=0.01)
    assert report(scatter=0.2).kind is ContendKind.INCONCLUSIVE


def test_a_pause_of_a_few_requests_is_a_loss_unless_they_are_too_few() -> None:
    sets = rounds()
    late = np.full(200, 2.0)
    late[::20] = 40.0  # waits for a turn of the other one
    for by_name in sets["A", "B"]:
        by_name["A"] = run("A", late)
    found = contention_of(sets, range(8), **FIELDS)
    (slowed, _) = found.slow_downs
    alone, together = (found.times[0], next(one for one in found.times if one.beside == ("B",)))
    assert together.p50_ms == pytest.approx(alone.p50_ms, rel=0.01)
    assert slowed.factor.ratio == pytest.approx(late.mean() / 2.0, rel=0.01)
    assert together.p99_ms == pytest.approx(40.0)
    found = report(requests=68)
    assert all(times.p99_ms is None for times in found.times)
    assert all(slowed.p99_factor is None for slowed in found.slow_downs)
    assert all(times.p99_ms is not None for times in report(requests=160).times)
    slowed = report({("A", "B"): 2.0}, number=3).slow_downs[0]
    assert slowed.factor.is_student
    assert slowed.factor.interval.low < 2.0 < slowed.factor.interval.high


def test_throughput_is_compared_with_the_sum_and_fairness_is_jains_index() -> None:
    found = report({("A", "B"): 2.0, ("B", "A"): 2.0})
    (pair,) = found.sets
    assert pair.alone_per_s == pytest.approx(500 + 200, rel=0.01)
    assert pair.per_s == pytest.approx(350, rel=0.01)
    assert pair.share.ratio == pytest.approx(0.5, rel=0.01)
    assert jain_index(np.array([2.0, 2.0, 2.0])) == pytest.approx(1.0)
    assert jain_index(np.array([1.0, 3.0])) == pytest.approx(16 / 20)
    assert jain_index(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(1 / 4)
    (pair,) = report({("A", "B"): 3.0}).sets
    assert pair.fairness == pytest.approx(0.8, abs=0.01)
    assert pair.fairness_interval.high <= 1
    found = report({("A", "B"): 2.0, ("A", "C"): 1.5}, count=3)
    assert [slowed.contender for slowed in found.together] == ["A", "B", "C"]
    assert found.slow_down("A", "C", "B").factor.ratio == pytest.approx(3.0, rel=0.01)
    assert found.slow_down("A", "D") is None


def test_only_rounds_and_requests_that_count_are_used() -> None:
    sets = rounds()
    sets["A", "B"][2]["A"] = run("A", np.full(200, 1e6))
    found = contention_of(sets, [number for number in range(8) if number != 2], **FIELDS)
    assert (found.rounds, found.kind) == (7, ContendKind.UNAFFECTED)
    sets = rounds()
    sets["A", "B"][0]["B"] = run("B", np.empty(0), OutcomeKind.CRASHED)
    found = contention_of(sets, range(8), **FIELDS)
    assert found.rounds == 7
    assert all(slowed.factor.n_a == 7 for slowed in found.slow_downs)
    times = report().times[0]
    assert (times.requests, times.outside) == (8 * 200, 8 * 4)
