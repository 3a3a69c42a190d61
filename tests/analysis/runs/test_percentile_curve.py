import numpy as np

from enginescope.analysis.runs.run_view import POINTS, percentile_curve
from enginescope.judge.samples import Mark, Samples, frozen
from enginescope.judge.stats.describe import describe, percentile
from tests.judge.test_describe import bursty_tail


def test_curve_is_the_percentiles_of_the_samples() -> None:
    values = np.random.default_rng(4).lognormal(0, 0.3, 500)
    curve = percentile_curve(Samples(metric="latency", values_ms=frozen(values)))
    assert [one.p for one in curve] == list(POINTS)
    assert [one.value_ms for one in curve] == [percentile(values, p) for p in POINTS]
    by_p = {one.p: one for one in curve}
    assert by_p[99].needed_n == by_p[1].needed_n == 459
    assert by_p[99.9].mark is Mark.SAMPLES
    assert by_p[50].mark is None


def test_the_curve_says_of_a_percentile_what_the_summary_says() -> None:
    for values in (bursty_tail(), bursty_tail(400), np.random.default_rng(1).normal(2, 0.1, 700)):
        samples = Samples(metric="latency", values_ms=frozen(values))
        curve = percentile_curve(samples)
        assert all(one in curve for one in describe(samples).percentiles)
