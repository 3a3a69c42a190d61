import math

import numpy as np
import pytest

from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.stats import nested_variance
from tests.judge.draws import ar1

BATCHES_LESS_1 = 11


def drawn(draw, builds, processes, sds):
    """Figures of processes with normal variation: of builds, of processes, of medians."""
    build_sd, process_sd, error_sd = sds
    found = []
    for _ in range(builds):
        level = build_sd * draw.standard_normal()
        found.append(
            [
                nested_variance.ProcessFigure(
                    level=level + float(np.dot((process_sd, error_sd), draw.standard_normal(2))),
                    error=error_sd**2 * draw.chisquare(BATCHES_LESS_1) / BATCHES_LESS_1,
                    iterations=500,
                )
                for _ in range(processes)
            ]
        )
    return found


def test_two_builds_of_two_processes_are_enough_and_shares_add_up() -> None:
    two = drawn(np.random.default_rng(4), 2, 2, (0.02, 0.005, 0.001))
    assert all(one.variance >= 0 for one in nested_variance.variance_components(two))
    components = nested_variance.variance_components(
        drawn(np.random.default_rng(3), 8, 3, (0.02, 0.005, 0.002))
    )
    assert sum(one.share_pct for one in components) == pytest.approx(100)
    assert [one.level for one in components] == ["build", "process", "iteration"]


def share_covered(sds):
    """Return how often each interval holds the truth, and the mean estimates."""
    draw = np.random.default_rng(1)
    truth = [100 * math.expm1(sd) for sd in sds]
    found = [nested_variance.variance_components(drawn(draw, 10, 3, sds)) for _ in range(200)]
    covered = [
        np.mean([one[at].low_pct <= truth[at] <= one[at].high_pct for one in found])
        for at in range(3)
    ]
    return covered, [np.mean([one[at].variance for one in found]) for at in range(3)], found


@pytest.mark.parametrize("sds", [(0.02, 0.005, 0.001), (0.006, 0.006, 0.003)])
def test_intervals_hold_the_truth_and_estimates_are_unbiased(sds) -> None:
    covered, means, _ = share_covered(sds)
    for share in covered:
        assert 0.92 <= share <= 0.98  # 95 % of 200, ± two standard errors
    for mean, sd in zip(means, sds, strict=True):
        assert mean == pytest.approx(sd**2, rel=0.1)


def test_no_variation_is_invented_between_equal_builds() -> None:
    _, means, found = share_covered((0.0, 0.005, 0.002))
    builds = [one[0] for one in found]
    assert np.mean([one.low_pct == 0 for one in builds]) >= 0.93
    negative = [one for one in builds if one.variance < 0]
    assert len(negative) > 50  # unbiased: about half lie below 0 …
    assert {one.sd_pct for one in negative} == {0.0}  # … and are called none
    assert means[0] == pytest.approx(0, abs=(0.005**2) / 30)


@pytest.mark.parametrize("phi", [0.0, 0.8])
def test_the_error_of_a_median_allows_for_autocorrelation(phi) -> None:
    """Against medians of many series; a normal AR(1) series has a known variance of the median."""
    draw = np.random.default_rng(4)
    n, errors, levels = 2_400, [], []
    for _ in range(300):
        figure = nested_variance.process_figure(np.exp(0.02 * ar1(draw, n, phi)))
        errors.append(figure.error)
        levels.append(figure.level)
    known = 0.02**2 / n * sum(math.asin(phi ** abs(lag)) for lag in range(-200, 201))
    assert np.mean(errors) == pytest.approx(known, rel=0.1)
    assert np.var(levels) == pytest.approx(known, rel=0.25)


def test_too_little_to_tell_levels_apart() -> None:
    figure = nested_variance.ProcessFigure(level=0.0, error=1e-6, iterations=100)
    for counts in ([], [2], [1, 1], [2, 3]):
        with pytest.raises(UsageError, match="processes"):
            nested_variance.variance_components([[figure] * count for count in counts])
    for values in ([1.0] * 23, [1.0] * 30 + [0.0]):
        with pytest.raises(UsageError, match="iterations of a process"):
            nested_variance.process_figure(values)


def components(*variances: float) -> list[nested_variance.VarianceComponent]:
    return [
        nested_variance.VarianceComponent(
            level=level, variance=variance, sd_pct=0, low_pct=0, high_pct=0
        )
        for level, variance in zip(("build", "process", "iteration"), variances, strict=True)
    ]


COSTS = nested_variance.LevelCosts(build_s=30.0, process_s=2.0, iteration_s=0.001)


def variance_of(best, parts, iterations):
    build, process, median = parts
    inner = process + median * iterations / best.iterations
    return (build + inner / best.processes) / best.builds


def test_the_best_numbers_are_those_of_the_formula_and_of_a_search() -> None:
    parts, iterations, time_s = (4e-4, 1e-4, 1e-6), 1_000, 3_600.0
    best = nested_variance.best_allocation(components(*parts), iterations, COSTS, time_s)
    # √(c₂/c₁ · T₁²/T₂²) and √(c₃/c₂ · T₂²/T₃²), rounded up
    assert best.iterations == math.ceil(math.sqrt(2.0 / 0.001 * 1e-3 / 1e-4))
    assert best.processes == math.ceil(math.sqrt(30.0 / 2.0 * 1e-4 / 4e-4))
    assert best.duration_s <= time_s
    trials = [
        replace(best, processes=processes, iterations=count, builds=int(time_s / one_build))
        for processes in range(1, 12)
        for count in (10, 30, 100, 150, 300, 1_000, 3_000)
        if (one_build := 30 + processes * (2 + count * 0.001))
    ]
    searched = min(variance_of(trial, parts, iterations) for trial in trials)
    assert variance_of(best, parts, iterations) <= 1.03 * searched
    assert best.half_width_pct == pytest.approx(
        100 * 1.99 * math.sqrt(variance_of(best, parts, iterations)), rel=0.02
    )


@pytest.mark.parametrize(
    ("parts", "builds", "processes"),
    [
        ((-1e-6, 1e-4, 1e-6), 1, None),  # no build differs: one, in many processes
        ((1e-4, -1e-6, 1e-6), None, 1),  # no process differs: one of each build
        ((0.0, 0.0, 1e-6), 1, 1),  # nothing but iterations varies
    ],
)
def test_a_level_without_variation_is_not_repeated(parts, builds, processes) -> None:
    best = nested_variance.best_allocation(components(*parts), 1_000, COSTS, 600.0)
    assert best.duration_s <= 600.0
    assert builds is None or best.builds == builds
    assert processes is None or best.processes == processes
    if builds is None:
        assert best.builds > 5
    if processes is None:
        assert best.processes > 5
    assert (best.half_width_pct is None) == (parts[:2] == (0.0, 0.0))


def test_a_time_too_short_for_anything_gives_one_of_each() -> None:
    best = nested_variance.best_allocation(components(1e-4, 1e-4, 1e-6), 1_000, COSTS, 1.0)
    assert (best.builds, best.half_width_pct) == (1, None)
