from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from enginescope.core.errors import UsageError
from enginescope.judge.stats.describe import LIMIT, outlier_scores


def test_scores_are_distances_in_median_absolute_deviations() -> None:
    values = np.random.default_rng(1).lognormal(size=501)
    expected = (values - np.median(values)) / scipy.stats.median_abs_deviation(values)
    assert outlier_scores(values) == pytest.approx(expected)


def test_normal_samples_have_no_outliers_and_a_spike_is_one() -> None:
    values = np.random.default_rng(2).normal(5, 0.1, 100_000)
    assert np.abs(outlier_scores(values)).max() < LIMIT
    values[77] = 9.0
    assert np.flatnonzero(np.abs(outlier_scores(values)) > LIMIT).tolist() == [77]


def test_where_most_values_are_equal_the_step_is_the_scale() -> None:
    values = np.array([5.0] * 60 + [5.1] * 20 + [4.9] * 19 + [8.0])
    scores = outlier_scores(values)
    assert scores[60] == pytest.approx(1.0)
    assert scores[-1] == pytest.approx(30.0)


def test_where_most_values_are_equal_and_there_is_no_step_a_spike_still_stands_out() -> None:
    scores = outlier_scores([5.0] * 99 + [8.0])
    assert scores[-1] > LIMIT
    assert not scores[:99].any()


def test_equal_values_score_nothing() -> None:
    assert outlier_scores([3.0] * 10).tolist() == [0.0] * 10


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60), st.integers(-8, 8))
def test_scores_do_not_depend_on_the_unit(values: list[int], power: int) -> None:
    series = np.array(values, dtype=float)
    assert outlier_scores(series * 2.0**power) == pytest.approx(outlier_scores(series))


def test_no_values_are_refused() -> None:
    with pytest.raises(UsageError):
        outlier_scores([])
