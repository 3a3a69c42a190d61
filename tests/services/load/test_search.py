import pytest

from enginescope.records.verdict.load import LoadKind, LoadStep
from enginescope.services.load.load import MOST_RATES, search_highest


def steps_of(first: float, met: float, missed: float) -> dict[LoadKind, list[float]]:
    """Search where rates up to `met` meet the goal and from `missed` on miss it; rates by kind."""

    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MISSED if rate >= missed else LoadKind.INCONCLUSIVE
        return LoadStep(kind=LoadKind.MET if rate <= met else kind, trials=(), rate_per_s=rate)

    steps, skipped = search_highest(measure(first), measure, 5.0)
    assert skipped is None
    assert len(steps) <= MOST_RATES
    return {kind: [step.rate_per_s for step in steps if step.kind is kind] for kind in LoadKind}


@pytest.mark.parametrize("first", [1.0, 40.0, 100.0, 900.0])
def test_the_highest_rate_is_found_within_the_resolution(first: float) -> None:
    found = steps_of(first, 100.0, 100.0001)
    highest = max(found[LoadKind.MET])
    assert 95.0 <= highest <= 100.0
    assert min(found[LoadKind.MISSED]) <= 1.05 * highest
    assert found[LoadKind.INCONCLUSIVE] == []


def test_the_search_ends_at_what_is_inconclusive_or_where_every_or_no_rate_meets() -> None:
    found = steps_of(50.0, 100.0, 150.0)
    assert max(found[LoadKind.MET]) <= 100.0
    assert found[LoadKind.INCONCLUSIVE]
    assert min(found[LoadKind.INCONCLUSIVE]) <= 1.05 * max(found[LoadKind.MET])
    found = steps_of(1e5, 1e9, 2e9)
    assert (max(found[LoadKind.MET]), found[LoadKind.MISSED]) == (8e5, [])
    found = steps_of(64.0, 0.0, 0.0)
    assert found[LoadKind.MET] == []
    assert found[LoadKind.MISSED] == [64.0, 32.0, 16.0, 8.0, 4.0]


def test_a_search_ends_before_a_rate_without_time_or_with_an_interrupted_one() -> None:

    def measure(rate: float) -> LoadStep:
        kind = LoadKind.MET if rate <= 100 else LoadKind.MISSED
        return LoadStep(kind=kind, trials=(), rate_per_s=rate)

    def in_time(rate: float) -> LoadStep | None:
        return measure(rate) if rate > 100 else None

    steps, skipped = search_highest(measure(64.0), in_time, 5.0)
    assert [step.rate_per_s for step in steps] == [64.0, 128.0]
    assert skipped == pytest.approx(90.5, abs=0.1)
    late, skipped = search_highest(measure(64.0), lambda _rate: None, 5.0)
    assert ([step.rate_per_s for step in late], skipped) == ([64.0], 128.0)
    first = LoadStep(kind=LoadKind.MET, trials=(), rate_per_s=64.0)
    assert search_highest(first, lambda _rate: None, 5.0) == ((first,), 128.0)
