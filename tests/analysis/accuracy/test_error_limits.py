"""Limits of outputs and channels, computed by hand from their definition."""

import math
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.accuracy.error_limits import (
    CEILING,
    NOISE_FACTOR,
    ChannelNoise,
    ExpectedNoise,
    channel_limits,
    populations,
    whole_limits,
)
from enginescope.analysis.accuracy.output_verdict import _digits, _ratio, runs_text
from enginescope.analysis.errors.channel_errors import ChannelErrors
from enginescope.analysis.errors.error_moments import ErrorMoments, moments_of
from enginescope.analysis.errors.output_tolerance import tolerance_named

INT8, FP16, FP32 = (tolerance_named(row) for row in ("int8", "fp16", "fp32"))


def whole(values: Any, row: Any, noise: ExpectedNoise | None = None) -> Any:
    r = np.asarray(values, dtype=np.float64)
    return whole_limits(moments_of(r, r), float(r.min()), float(r.max()), row, noise)


def channels(*rows: Any, candidate: Any = None, **options: Any) -> ChannelErrors:
    """Return the sums of channels, one for each row."""
    r = np.array(rows, dtype=np.float64)
    errors = ChannelErrors(0, len(r), **options)
    errors.add(r, r if candidate is None else np.asarray(candidate, np.float64), 0)
    return errors


def wave(count: int, size: float = 1.0) -> Any:
    """Values of mean 0, root mean square and largest value `size`."""
    return size * np.where(np.arange(count) % 2, 1.0, -1.0)


def test_the_whole_is_a_part_of_the_spread_and_a_quarter_of_the_range_whatever_its_offset() -> None:
    values = np.concatenate([wave(998), [50.0, -50.0]])
    spread = values.std()
    limits = whole(values, INT8)
    assert limits.scale == pytest.approx(spread)
    assert limits.rmse == pytest.approx(max(0.15 * spread, 50 * INT8.resolution / 2))
    assert limits.unexcused == pytest.approx(0.15 * spread)
    assert limits.peak == pytest.approx(2.0 * 50 / 4 + 50 * INT8.resolution)
    assert not limits.hidden
    near, far = whole(wave(100), INT8), whole(1000 + wave(100), INT8)
    assert far.scale == pytest.approx(near.scale)
    assert near.peak == pytest.approx(0.9 + INT8.resolution)
    assert far.rmse == pytest.approx(CEILING)  # half a step of 4 is more than the spread allows
    assert far.unexcused == pytest.approx(0.15)


def test_the_noise_takes_the_rows_place_below_a_ceiling() -> None:
    values = 10 * wave(1000)
    small = whole(values, INT8, ExpectedNoise(rmse=0.05, peak=0.2))
    tail = 1 + 3 / np.sqrt(1000)  # errors of few elements have long tails
    assert small.rmse == pytest.approx(NOISE_FACTOR * 0.05 * tail)
    large = whole(values, INT8, ExpectedNoise(rmse=3.0, peak=0.2))
    assert large.rmse == pytest.approx(CEILING * 10)
    far = whole(np.concatenate([values, [400.0]]), INT8, ExpectedNoise(rmse=0.05, peak=40.0))
    assert far.peak > NOISE_FACTOR * 40
    limits = whole([5.0], INT8, ExpectedNoise(rmse=0.01, peak=0.01))
    assert limits.rmse == pytest.approx(NOISE_FACTOR * 4 * 0.01)


def test_probabilities_round_at_a_range_of_one_and_values_below_0_at_their_own() -> None:
    values = 1e-9 * np.arange(100)
    limits = whole(values, FP32)
    assert limits.rmse == pytest.approx(FP32.resolution / 2)
    assert limits.hidden
    assert not whole(1e-3 * np.arange(100), FP32).hidden
    assert not whole(values - 1e-8, FP32).hidden  # below 0: its range is its own
    assert whole(values - 1e-8, FP32).rmse < FP32.resolution / 100
    values = 1e-4 * (wave(10_000) - 2)
    limits = channel_limits(channels(values, -values), FP16)
    assert not limits.hidden[0]
    assert limits.hidden[1]
    assert limits.rmse[0] == pytest.approx(0.05 * limits.scale[0])
    assert limits.rmse[1] == pytest.approx(FP16.resolution / 2)


def test_few_elements_may_have_a_small_spread_by_chance() -> None:
    few = whole([10.0, 10.1, 9.9], FP16)
    assert few.scale == pytest.approx(100 ** (1 / 3) * np.std([10.0, 10.1, 9.9]), rel=1e-3)
    assert whole([10.0, 10.0001], FP16).scale == pytest.approx(100 ** (1 / 2) * 0.00005, rel=1e-3)
    many = whole([10.0, 10.1, 9.9] * 3, FP16)
    assert many.scale == pytest.approx(np.std([10.0, 10.1, 9.9]), rel=1e-3)
    values = 10 + 0.1 * wave(8)
    assert whole(values, FP16).scale == pytest.approx(0.1)
    assert whole(values[:7], FP16).scale > 0.15
    limits = whole_limits(ErrorMoments(), None, None, FP16)
    assert (limits.scale, limits.unexcused) == (0, 0)
    assert limits.hidden


def test_each_channel_has_its_own_scale_unless_it_shares_a_population() -> None:
    errors = channels(wave(1000), 100 * wave(1000))
    limits = channel_limits(errors, INT8)
    assert limits.scale == pytest.approx([1, 100], rel=0.02)
    assert limits.rmse == pytest.approx([0.45, 45], rel=0.02)
    assert channel_limits(errors, FP16).rmse == pytest.approx([0.05, 5], rel=0.02)
    # Within a factor of 8 small values may be chance, where elements are few.
    near = channel_limits(channels(wave(2), 4 * wave(2)), INT8)
    together = math.sqrt((1 + 16) / 2)
    assert near.scale == pytest.approx([together, 4])
    many = channel_limits(channels(wave(1000), 4 * wave(1000)), INT8)
    assert many.scale[0] == pytest.approx(200 ** (1 / 1000))
    errors = channels(0.001 * wave(100), wave(100), is_spatial=True)
    limits = channel_limits(errors, INT8)
    together = math.sqrt((1e-6 + 1) / 2)
    assert limits.scale == pytest.approx([together, 1])


def test_a_channel_of_zeros_and_one_of_noise_have_their_limits() -> None:
    limits = channel_limits(channels(np.zeros(100), wave(100), 500 * wave(100)), INT8)
    assert limits.scale[0] == pytest.approx(1)
    assert limits.scale[2] == pytest.approx(500, rel=0.2)
    limits = channel_limits(channels(np.zeros(100), one_of(100, 40.0, 1.0)), FP16)
    assert limits.peak[0] == pytest.approx(0.25 * 1.3 * 40 / 4 + FP16.resolution)
    errors = channels(wave(10_000), 10 * wave(10_000))
    noise = ChannelNoise(axis=0, rmse=(0.01, 9.0), peak=(0.02, 18.0))
    limits = channel_limits(errors, INT8, noise)
    shared = math.sqrt((0.01**2) / 1) / 100
    assert limits.rmse[0] == pytest.approx(NOISE_FACTOR * (0.01 + shared), rel=1e-3)
    assert limits.rmse[1] == pytest.approx(CEILING * 10, rel=1e-2)
    # Four elements may be off by a quarter more, ten thousand by none.
    assert channel_limits(channels(wave(4)), INT8).rmse[0] == pytest.approx(1.25 * CEILING)
    noise = ChannelNoise(axis=0, rmse=(9.0,), peak=(9.0,))
    many = channel_limits(channels(wave(10_000)), INT8, noise)
    assert many.rmse[0] == pytest.approx(CEILING, rel=1e-3)


def test_a_factor_over_many_elements_is_not_excused_as_noise_is() -> None:
    row = 5 * np.random.default_rng(0).standard_normal(4000)
    noisy = row + np.random.default_rng(1).standard_normal(4000)
    by_noise = channel_limits(channels(row, candidate=[noisy]), INT8)
    by_factor = channel_limits(channels(row, candidate=[0.6 * row]), INT8)
    scale = np.sqrt(np.mean(row**2))
    assert by_noise.rmse[0] == pytest.approx(0.45 * scale, rel=1e-3)
    assert by_factor.rmse[0] == pytest.approx(0.35 * scale, rel=1e-3)
    few = channel_limits(channels(row[:7], candidate=[0.6 * row[:7]]), INT8)
    assert few.rmse[0] > 0.45 * np.sqrt(np.mean(row[:7] ** 2))
    rows = wave(8), wave(7)
    limits = [channel_limits(channels(row, candidate=[0.6 * row]), INT8) for row in rows]
    assert limits[0].rmse[0] == pytest.approx(0.35 * (1 + 1 / 8))
    assert limits[1].rmse[0] == pytest.approx(0.45 * (1 + 1 / 7))


def one_of(count: int, value: float, others: float = 0.0) -> Any:
    return np.append(np.full(count - 1, others), value)


def test_a_peak_may_be_a_quarter_of_the_distance_from_the_mean_on_either_side() -> None:
    """The farthest value is 99 from the mean, and the spread is 9.95."""
    for values in (one_of(100, 100.0), one_of(100, 0.0, 100.0), one_of(100, -100.0)):
        limit = 0.25 * 99 / 4 + 100 * FP16.resolution
        assert whole(values, FP16).peak == pytest.approx(limit), values
    for sign in (1, -1):  # values far from 0 round at their size
        far = whole(sign * (1000 + wave(100)), FP32)
        assert far.rmse == pytest.approx(1001 * FP32.resolution / 2), sign


@pytest.mark.parametrize(("high", "excused"), [(1.0, 0.01), (1.5, CEILING * 0.015)])
def test_probabilities_have_values_from_0_to_1(high, excused) -> None:
    """Half a step of INT8 at a range of 1; that of other values never exceeds their scale."""
    values = one_of(10_000, high)
    limits = whole(values, INT8)
    assert limits.peak == pytest.approx(2.0 * high / 4 + 2 * excused, rel=1e-3)
    assert limits.rmse == pytest.approx(CEILING * values.std())  # the loss of all is not excused
    assert channel_limits(channels(values), INT8).rmse[0] == pytest.approx(excused, rel=1e-3)


@pytest.mark.parametrize("noise", [None, ExpectedNoise(rmse=1.0, peak=1.0)])
def test_a_row_of_equality_allows_no_error_of_any_kind(noise) -> None:
    row = tolerance_named("exact")
    limits = whole(wave(100), row, noise)
    assert (limits.rmse, limits.peak) == (0, 0)
    by_channel = channel_limits(channels(wave(100)), row)
    assert (by_channel.rmse[0], by_channel.peak[0]) == (0, 0)


def test_the_noise_of_a_channel_counts_in_its_population_and_that_of_places_in_the_map() -> None:
    errors = channels(wave(10_000), np.full(10_000, np.nan))
    noise = ChannelNoise(axis=0, rmse=(0.01, None), peak=(0.05, None))
    limits = channel_limits(errors, FP16, noise)
    usual = 0.01 + 0.01 / 100  # its own, and a hundredth of that of its population
    assert limits.rmse[0] == pytest.approx(NOISE_FACTOR * usual)
    peak = NOISE_FACTOR * (0.05 + 0.01 / 100)
    assert limits.peak[0] == pytest.approx(peak + FP16.resolution)
    errors = channels(wave(10_000), wave(10_000), is_spatial=True)
    noise = ChannelNoise(axis=0, rmse=(0.01, 0.0), peak=(0.02, 0.05))
    limits = channel_limits(errors, FP16, noise)
    assert limits.rmse == pytest.approx([NOISE_FACTOR * 0.02, NOISE_FACTOR * 0.01])
    peak = NOISE_FACTOR * (0.05 + 0.01) + FP16.resolution
    assert limits.peak == pytest.approx([peak, peak])


def test_a_channel_of_little_noise_by_chance_has_that_of_its_population() -> None:
    """Of more channels the quietest is quieter by chance, with the same elements in each."""
    quiet = 1e-4
    found = []
    for count in (10, 1000):
        errors = channels(*[wave(8)] * count)
        rmse = (quiet, *[0.01] * (count - 1))
        noise = ChannelNoise(axis=0, rmse=rmse, peak=rmse)
        found.append(channel_limits(errors, FP16, noise).noise[0])
    few, many = found
    moderated = quiet + 0.01 / math.sqrt(8)  # the population counts as one element
    assert few == pytest.approx(moderated * 1000 ** (1 / 8), rel=0.1)
    assert many == pytest.approx(0.01, rel=0.01)
    long = channel_limits(
        channels(*[wave(10_000)] * 2), FP16, ChannelNoise(axis=0, rmse=(quiet, 0.01), peak=(0, 0))
    )
    assert long.noise[0] < 2.1 * quiet


def of_samples(count: int, *rows: Any) -> ChannelErrors:
    """Return the sums of channels over samples that differ by ±1 alone."""
    errors = ChannelErrors(0, len(rows))
    for sample in range(8):
        values = np.array([np.full(count, row + wave(8)[sample]) for row in rows])
        errors.add(values, values, sample)
    return errors


def test_a_channel_near_0_has_the_scale_of_its_variation_and_populations_are_numbered() -> None:
    """Similar samples: the channels vary by 1 beside means of 10, 20 and 0.1."""
    norms = np.sqrt(np.square([10, 20, 0.1]) + 1)
    scale, _ = populations(of_samples(1, 10, 20, 0.1))
    assert scale == pytest.approx([norms[0], norms[1], norms[0]])
    scale, _ = populations(of_samples(8, 10, 20, 0.1))  # eight elements a sample show the scale
    assert scale == pytest.approx(norms)
    for gap, count, several in ((9, 3, False), (9, 4, True), (7.9, 400, False)):
        _, group = populations(channels(wave(count), gap * wave(count)))
        assert bool(group.max() > 0) is several, (gap, count)
    # A gap of 9 needs four elements below it that belong to no smaller population.
    small = [wave(2)] * 4
    _, group = populations(channels(81 * wave(2), *small, 9 * wave(2)))
    assert group.tolist() == [1, 0, 0, 0, 0, 1]
    _, group = populations(channels(*small, *[9 * wave(2)] * 4, 81 * wave(2)))
    assert group.tolist() == [0] * 4 + [1] * 4 + [2]


def test_channels_are_named_by_runs_and_errors_beside_the_noise_or_the_scale() -> None:
    assert runs_text(np.array([3])) == "channel 3"
    assert runs_text(np.array([1, 2, 3, 7])) == "channels 1–3, 7"
    assert runs_text(np.array([0, 2, 3, 5, 7, 8, 10, 12])) == "channels 0, 2–3, 5, 7–8 and 2 more"
    far = "RMSE is 20 × that of honest FP16, at most 5.0 × wanted: 4"
    assert _ratio("RMSE", 4.0, 1.0, 8.0, 0.2, FP16) == far
    # the resolution decides the limit, not the noise
    tiny = "RMSE is 0.5 of the reference's spread, at most 0.125 wanted"
    assert _ratio("RMSE", 4.0, 1.0, 8.0, 1e-6, FP16) == tiny
    text = "RMSE is 0.5 of the reference's spread, at most 0.25 wanted"
    assert _ratio("RMSE", 4.0, 2.0, 8.0, 3.9, FP16) == text
    assert _ratio("RMSE", 4.0, 1.0, 0.0, 0.0, FP16) == "RMSE is 4 where the reference is 0"
    wanted = "RMSE is 0.5 of the reference's spread, at most 0.125 wanted"
    assert _ratio("RMSE", 4.0, 1.0, 8.0, 0.0, FP16) == wanted
    digits = {0.5: "0.5", 0.9999: "0.9999", 0.99: "0.99", 1.0: "1", 1234.5: "1.23e+03"}
    assert {value: _digits(value) for value in digits} == digits
