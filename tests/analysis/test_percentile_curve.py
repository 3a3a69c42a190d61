import numpy as np

from enginescope.analysis.percentile_curve import POINTS, percentile_curve
from enginescope.model.samples import Samples, frozen
from enginescope.stats.describe import describe
from enginescope.stats.percentile import percentile


def test_curve_is_the_percentiles_of_the_samples() -> None:
    values = np.random.default_rng(4).lognormal(0, 0.3, 500)
    samples = Samples(metric="latency", values_ms=frozen(values))
    summary = describe(samples)
    curve = percentile_curve(samples, summary)
    assert [one.p for one in curve] == list(POINTS)
    assert [one.value_ms for one in curve] == [percentile(values, p) for p in POINTS]
    by_p = {one.p: one for one in curve}
    assert by_p[99].effective_n == summary.percentile(99).effective_n
    assert by_p[99].needed_n == by_p[1].needed_n == 459
    assert by_p[0].needed_n is None
    assert not by_p[0].is_supported
    assert by_p[50].is_supported
