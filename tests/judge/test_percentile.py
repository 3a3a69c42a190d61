from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.stats.describe import median, nearest_rank, needed_samples, percentile

VALUES = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("p", "n", "rank"),
    [
        (99, 100, 99),  # in double precision one sample would be excluded, and the rank be 98
        (90, 100, 89),
        (95, 100, 94),
        (99, 1000, 990),
        (50, 4, 1),
        (0, 10, 0),
        (100, 10, 9),
        (99, 1, 0),
    ],
)
def test_rank_is_trtexecs(p: float, n: int, rank: int) -> None:
    assert nearest_rank(p, n) == rank


def test_rank_differs_from_double_precision_where_trtexec_does() -> None:
    in_double = [max(n - 1 - int((1 - 99 / 100) * n), 0) for n in range(1, 2000)]
    ours = [nearest_rank(99, n) for n in range(1, 2000)]
    assert ours != in_double
    assert max(abs(a - b) for a, b in zip(ours, in_double, strict=True)) == 1


@pytest.mark.parametrize("p", [-0.1, 100.5, math.nan])
def test_percentile_outside_0_to_100_is_refused(p: float) -> None:
    with pytest.raises(UsageError, match="outside"):
        nearest_rank(p, 10)


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(UsageError, match="no samples"):
        nearest_rank(50, 0)
    with pytest.raises(UsageError, match="0 values"):
        percentile([], 50)


@given(VALUES, st.floats(0, 100))
def test_a_percentile_is_one_of_the_values_and_ignores_their_order(
    values: list[float], p: float
) -> None:
    found = percentile(values, p)
    assert found in values
    assert percentile(sorted(values), p) == found
    assert percentile(values[::-1], p) == found


@given(VALUES, st.floats(0, 100), st.integers(-8, 8))
def test_a_percentile_scales_with_its_values(values: list[float], p: float, power: int) -> None:
    factor = 2.0**power
    assert percentile([value * factor for value in values], p) == factor * percentile(values, p)


@given(VALUES, st.floats(0, 100), st.floats(0, 100))
def test_percentiles_do_not_fall(values: list[float], p: float, other: float) -> None:
    low, high = sorted((p, other))
    assert percentile(values, low) <= percentile(values, high)


@given(VALUES)
def test_the_ends_are_the_extremes(values: list[float]) -> None:
    assert percentile(values, 0) == min(values)
    assert percentile(values, 100) == max(values)


def test_median_of_an_even_count_is_the_mean_of_the_middle_two() -> None:
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5
    assert median([3.0, 1.0, 2.0]) == 2.0


@pytest.mark.parametrize(("p", "n"), [(90, 44), (95, 90), (99, 459), (99.9, 4603), (50, 7)])
def test_needed_samples_are_loadgens(p: float, n: int) -> None:
    assert needed_samples(p) == n


@given(st.floats(1, 99.9), st.floats(0.5, 0.999))
def test_needed_samples_is_the_smallest_number_that_reaches_beyond(
    p: float, confidence: float
) -> None:
    tail = min(p, 100 - p) / 100
    n = needed_samples(p, confidence)
    assert scipy.stats.binom.sf(0, n, tail) >= confidence - 1e-9
    assert n == 1 or scipy.stats.binom.sf(0, n - 1, tail) < confidence + 1e-9


@pytest.mark.parametrize(("p", "confidence"), [(0, 0.99), (100, 0.99), (90, 0), (90, 1)])
def test_needed_samples_refuses_what_has_no_answer(p: float, confidence: float) -> None:
    with pytest.raises(UsageError):
        needed_samples(p, confidence)


def test_percentile_of_a_large_array_is_the_sorted_value() -> None:
    values = np.random.default_rng(0).lognormal(size=10_001)
    assert percentile(values, 99) == np.sort(values)[nearest_rank(99, values.size)]
