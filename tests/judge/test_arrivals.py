import numpy as np
import pytest

from enginescope.backends.open_loop import arrival_times_ms
from enginescope.records.run.load_and_contention import LoadRule


def drawn(rate: float | None = 200.0, **fields) -> np.ndarray:
    return arrival_times_ms(LoadRule(**fields), rate)


def test_arrivals_of_every_kind_by_their_rule() -> None:
    assert drawn(seed=4).tolist() == drawn(seed=4).tolist()
    assert drawn(seed=4).tolist() != drawn(seed=5).tolist()
    times = drawn(duration_ms=500.0)
    assert (np.diff(times) > 0).all()
    assert times[-1] < 500.0
    assert drawn(arrivals="constant", duration_ms=20.0).tolist() == [0.0, 5.0, 10.0, 15.0]
    assert drawn(arrivals="constant", queries=2).tolist() == [0.0, 5.0]
    assert drawn(duration_ms=20.0, least_queries=30).size == 30
    assert drawn(arrivals="constant", duration_ms=20.0, least_queries=30).size == 30
    assert drawn(arrivals="constant", duration_ms=500.0, least_queries=30).size == 100
    assert drawn(arrivals="burst", duration_ms=20.0).tolist() == 4 * [0.0]
    rule = {"arrivals": "trace", "times_ms": (0.0, 3.0, 4.5)}
    assert drawn(None, **rule).tolist() == [0.0, 3.0, 4.5]
    assert drawn(None, queries=2, **rule).tolist() == [0.0, 3.0]


def test_poisson_gaps_are_exponential_and_counts_vary_as_their_mean() -> None:
    gaps = np.diff(drawn(1_000.0, queries=50_000))
    assert gaps.mean() == pytest.approx(1.0, rel=0.02)
    assert gaps.std() == pytest.approx(1.0, rel=0.03)
    assert np.mean(gaps > 1.0) == pytest.approx(np.exp(-1), rel=0.02)
    counts = [drawn(duration_ms=1_000.0, seed=seed).size for seed in range(400)]
    assert np.mean(counts) == pytest.approx(200, rel=0.02)
    assert np.var(counts) == pytest.approx(200, rel=0.25)
