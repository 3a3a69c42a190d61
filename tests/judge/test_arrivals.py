"""Arrivals are drawn before the test, and are what their names say."""

import numpy as np
import pytest

from enginescope.backends.open_loop import arrival_times_ms
from enginescope.records.run.load_and_contention import LoadRule


def drawn(rate: float | None = 200.0, **fields) -> np.ndarray:
    return arrival_times_ms(LoadRule(**fields), rate)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    assert drawn(seed=4).tolist() == drawn(seed=4).tolist()
    assert drawn(seed=4).tolist() != drawn(seed=5).tolist()


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(drawn(1_000.0, queries=50_000))
    assert gaps.mean() == pytest.approx(1.0, rel=0.02)
    assert gaps.std() == pytest.approx(1.0, rel=0.03)
    assert np.mean(gaps > 1.0) == pytest.approx(np.exp(-1), rel=0.02)


def test_counts_of_poisson_arrivals_vary_as_their_mean() -> None:
    counts = [drawn(duration_ms=1_000.0, seed=seed).size for seed in range(400)]
    assert np.mean(counts) == pytest.approx(200, rel=0.02)
    assert np.var(counts) == pytest.approx(200, rel=0.25)


def test_all_arrivals_lie_in_the_duration() -> None:
    times = drawn(duration_ms=500.0)
    assert (np.diff(times) > 0).all()
    assert times[-1] < 500.0


def test_constant_arrivals_have_equal_gaps() -> None:
    assert drawn(arrivals="constant", duration_ms=20.0).tolist() == [0.0, 5.0, 10.0, 15.0]
    assert drawn(arrivals="constant", queries=2).tolist() == [0.0, 5.0]


def test_a_low_rate_has_the_least_number_of_queries() -> None:
    assert drawn(duration_ms=20.0, least_queries=30).size == 30
    assert drawn(arrivals="constant", duration_ms=20.0, least_queries=30).size == 30
    assert drawn(arrivals="constant", duration_ms=500.0, least_queries=30).size == 100


def test_a_burst_has_what_would_arrive_in_the_duration() -> None:
    assert drawn(arrivals="burst", duration_ms=20.0).tolist() == 4 * [0.0]


def test_a_trace_is_taken_as_it_is() -> None:
    rule = {"arrivals": "trace", "times_ms": (0.0, 3.0, 4.5)}
    assert drawn(None, **rule).tolist() == [0.0, 3.0, 4.5]
    assert drawn(None, queries=2, **rule).tolist() == [0.0, 3.0]
