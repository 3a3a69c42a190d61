"""Binomial tests against SciPy's distribution, and counts that MLPerf's rules print."""

import numpy as np
import pytest

from enginescope.backends.open_loop import arrival_times_ms
from enginescope.judge.stats import mlperf_queries
from enginescope.records.run.load_and_contention import LoadRule


@pytest.mark.parametrize("n", [1, 2, 64, 5_000])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5])
def test_the_cumulative_distribution_is_the_binomial_one(n: int, share: float) -> None:
    most, stats = min(n, 200), pytest.importorskip("scipy.stats")
    expected = pytest.approx(stats.binom.cdf(np.arange(most + 1), n, share), rel=1e-9, abs=1e-12)
    assert mlperf_queries.binomial_cumulative(n, share, most) == expected


def test_the_least_number_of_queries_is_loadgen_s() -> None:
    for p, n in ((90.0, 64), (99.0, 662)):
        assert mlperf_queries.needed_queries(1, p) == n
        assert mlperf_queries.discarded_queries(n - 1, p) is None
        assert mlperf_queries.discarded_queries(n, p) == 1


@pytest.mark.parametrize("p", [90.0, 97.0, 99.0, 99.9])
@pytest.mark.parametrize("slow", [0, 1, 7, 60])
def test_what_needs_n_queries_is_discarded_of_n(slow: int, p: float) -> None:
    n = mlperf_queries.needed_queries(slow, p)
    if slow:
        assert mlperf_queries.discarded_queries(n, p) == slow
        assert (mlperf_queries.discarded_queries(n - 1, p) or 0) < slow


def test_a_share_is_judged_with_its_error_and_wrong_verdicts_are_rare() -> None:
    assert mlperf_queries.share_is_below(0, 1_000, 0.01, 0.025) is True
    assert mlperf_queries.share_is_below(40, 1_000, 0.01, 0.025) is False
    assert mlperf_queries.share_is_below(10, 1_000, 0.01, 0.025) is None
    assert mlperf_queries.share_is_below(0, 20, 0.01, 0.025) is None  # too few to say
    assert mlperf_queries.share_is_below(0, 0.4, 0.01, 0.025) is None
    draws = np.random.default_rng(5).binomial(2_000, 0.01, 4_000)
    verdicts = [mlperf_queries.share_is_below(int(slow), 2_000, 0.01, 0.025) for slow in draws]
    assert verdicts.count(True) / 4_000 <= 0.03
    assert verdicts.count(False) / 4_000 <= 0.03


@pytest.mark.parametrize("p", [50.0, 90.0, 99.0, 99.9])
def test_the_least_number_that_decides_is_exact(p: float) -> None:
    n = mlperf_queries.decisive_queries(p, 0.025)
    assert mlperf_queries.share_is_below(0, n, 1 - p / 100, 0.025) is True
    assert mlperf_queries.share_is_below(0, n - 1, 1 - p / 100, 0.025) is None


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
