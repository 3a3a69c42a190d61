import numpy as np

from enginescope.analysis.runs.latency_curves import POINTS, percentile_curve
from enginescope.records.samples import Samples, frozen
from enginescope.stats.describe import describe, percentile
from tests.stats.test_describe import bursty_tail


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


def test_the_curve_is_sound_up_to_one_percentile_and_agrees_with_the_summary() -> None:
    for values in (bursty_tail(), bursty_tail(400), np.random.default_rng(1).normal(2, 0.1, 700)):
        samples = Samples(metric="latency", values_ms=frozen(values))
        summary = describe(samples)
        points = [each for each in percentile_curve(samples, summary) if 50 <= each.p < 100]
        sound = [each.is_supported for each in points]
        assert sound == sorted(sound, reverse=True)
        of_curve = {each.p: each.is_supported for each in points}
        for each in summary.percentiles:
            assert of_curve[each.p] is each.is_supported
