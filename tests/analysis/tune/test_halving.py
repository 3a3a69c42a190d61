"""Successive halving: errors of the search are no claims, and what is planted is found."""

import numpy as np
import pytest

from enginescope.analysis.tune.halving import RUNGS, confirmed, ranked, slower_by_evidence
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.comparison.ratio import ratio_of_few_rounds
from enginescope.judge.verdict import VerdictKind

SIDES = 32
SEARCHES = 60


def wandering(draw, rounds: int, sides: int, *, persistence: float, sd: float) -> np.ndarray:
    """A series for each side, of first-order autocorrelation."""
    steps = sd * draw.standard_normal((rounds, sides))
    series = np.empty_like(steps)
    series[0] = steps[0]
    for at in range(1, rounds):
        series[at] = persistence * series[at - 1] + np.sqrt(1 - persistence**2) * steps[at]
    return series


def processes(draw, rounds: int, levels: np.ndarray) -> np.ndarray:
    """Medians of processes, by round: drift of the machine, own drift, two levels, disturbances."""
    shape = rounds, len(levels)
    shared = wandering(draw, rounds, 1, persistence=0.8, sd=0.03)
    own = wandering(draw, *shape, persistence=0.3, sd=0.015)
    second = 0.03 * (draw.random(shape) < 0.15)
    return np.exp(levels + shared + own + second + (0.10 * (draw.random(shape) < 0.02)))


def search(draw, levels: np.ndarray) -> tuple[int, VerdictKind | None]:
    """Search and confirm as the service does; the default is number 0."""
    measured = processes(draw, RUNGS[-1], levels)
    left = list(range(len(levels)))
    for rounds in RUNGS:
        slower = slower_by_evidence({number: measured[:rounds, number] for number in left})
        left = [number for number in left if number == 0 or number not in slower]
    leader = ranked({number: measured[:, number] for number in left})[0]
    if leader == 0:
        return leader, None
    fresh = processes(draw, LOOKS[-1], levels[[0, leader]])
    found = None
    for look in LOOKS:
        found = confirmed(fresh[:look, 0], fresh[:look, 1], 1.0).kind
        if found is not VerdictKind.INCONCLUSIVE:
            break
    return leader, found


def test_a_winner_among_equals_is_seldom_claimed_though_the_leader_looks_faster() -> None:
    found = [search(np.random.default_rng(seed), np.zeros(SIDES)) for seed in range(SEARCHES)]
    assert sum(kind is VerdictKind.FASTER for _, kind in found) <= 3
    assert sum(leader != 0 for leader, _ in found) > 54  # a search always has a leader
    draw = np.random.default_rng(1)
    ratios = []
    for _ in range(20):
        measured = processes(draw, RUNGS[-1], np.zeros(SIDES))
        leader = ranked({number: measured[:, number] for number in range(SIDES)})[0]
        ratios.append(ratio_of_few_rounds(measured[:, 0], measured[:, leader]).ratio)
    assert np.mean(ratios) < 0.99  # so that the search itself must not claim anything


def test_a_planted_five_percent_is_found_and_at_most_half_dropped_at_a_time() -> None:
    levels = np.where(np.arange(SIDES) == 7, np.log(0.95), 0.0)
    found = [search(np.random.default_rng(seed), levels) for seed in range(20)]
    assert sum(one == (7, VerdictKind.FASTER) for one in found) >= 19
    levels = np.array([0.0, 0.0, 0.0, 0.7, 0.8])
    measured = processes(np.random.default_rng(3), RUNGS[0], levels)
    assert set(slower_by_evidence({number: measured[:, number] for number in range(5)})) == {3, 4}
    levels = np.array([0.0, 0.5, 0.6, 0.7])
    measured = processes(np.random.default_rng(3), RUNGS[0], levels)
    assert set(slower_by_evidence({at: measured[:, at] for at in range(4)})) <= {2, 3}


def test_what_a_round_shares_changes_no_rank_and_rates_are_better_higher() -> None:
    costs = {0: (1.0, 1.2, 0.8), 1: (1.1, 0.9, 1.0), 2: (0.9, 1.1, 1.2), 3: (1.2, 0.9, 1.1)}
    assert slower_by_evidence(costs) == ()
    costs = {1: (1.0, 3.0, 9.0), 2: (1.1, 3.3, 9.9), 3: (0.9, 2.7, 8.1)}
    assert ranked(costs) == (3, 1, 2)
    default, candidate = processes(np.random.default_rng(2), 16, np.log([100.0, 120.0])).T
    assert confirmed(default, candidate, 1.0).kind is VerdictKind.SLOWER
    found = confirmed(default, candidate, 1.0, higher_is_better=True)
    assert found.kind is VerdictKind.FASTER
    assert found.corrected_ratio == pytest.approx(1.2, abs=0.03)


@pytest.mark.parametrize(("rounds", "has_interval"), [(1, False), (2, True), (3, True), (12, True)])
def test_ratios_of_few_rounds_have_a_student_interval(rounds, has_interval) -> None:
    default, other = processes(np.random.default_rng(2), rounds, np.log([1.0, 0.9])).T
    found = ratio_of_few_rounds(default, other)
    assert found.ratio == pytest.approx(0.9, abs=0.1)
    assert (found.interval is not None) == has_interval
