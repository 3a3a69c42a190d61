"""The search for the highest rate, on verdicts that are known."""

from __future__ import annotations

import pytest

from enginescope.records.verdict.load import LoadKind, LoadStep
from enginescope.services.load.search import MOST_RATES, search_highest


def search(first: float, met: float, missed: float, resolution_pct: float = 5.0):
    """Search where rates up to `met` meet the goal, and from `missed` on miss it."""

    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MISSED if rate >= missed else LoadKind.INCONCLUSIVE
        return LoadStep(kind=LoadKind.MET if rate <= met else kind, trials=(), rate_per_s=rate)

    return search_highest(first, measure, resolution_pct)


@pytest.mark.parametrize("first", [1.0, 40.0, 100.0, 900.0])
def test_the_highest_rate_is_found_within_the_resolution(first: float) -> None:
    found = search(first, 100.0, 100.0001)
    assert found.highest_met is not None
    assert 95.0 <= found.highest_met <= 100.0
    assert found.lowest_missed <= 1.05 * found.highest_met
    assert found.inconclusive == ()
    assert len(found.steps) <= MOST_RATES


def test_what_is_inconclusive_is_named() -> None:
    found = search(50.0, 100.0, 150.0)
    assert found.highest_met <= 100.0
    assert found.inconclusive
    assert all(100.0 < rate < 150.0 for rate in found.inconclusive)
    assert found.lowest_missed is None or found.lowest_missed >= 150.0


def test_where_every_rate_meets_the_search_ends() -> None:
    found = search(1e5, 1e9, 2e9)
    assert found.highest_met == 8e5
    assert found.lowest_missed is None


def test_where_no_rate_meets_the_search_ends() -> None:
    found = search(64.0, 0.0, 0.0)
    assert found.highest_met is None
    assert found.lowest_missed == 4.0
    assert len(found.steps) == 5


def test_a_search_ends_before_a_rate_that_there_is_no_time_for() -> None:
    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MET if rate <= 100 else LoadKind.MISSED
        return LoadStep(kind=kind, trials=(), rate_per_s=rate)

    found = search_highest(64.0, measure, 5.0, lambda rate: rate > 100)
    assert [step.rate_per_s for step in found.steps] == [64.0, 128.0]
    assert found.highest_met == 64.0
    assert found.skipped == pytest.approx(90.5, abs=0.1)
    assert search_highest(64.0, measure, 5.0, lambda _rate: False).steps[0].rate_per_s == 64.0
