"""Moments of errors against NumPy on whole arrays, in extended precision where there is one."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enginescope.analysis.errors import channel_errors
from enginescope.analysis.errors.channel_errors import ChannelAxes
from enginescope.analysis.errors.error_moments import ErrorMoments, moments_of
from tests.analysis.answers import tensor

VALUES = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@st.composite
def pairs(draw):
    size = draw(st.integers(1, 60))
    a = draw(arrays(np.float64, size, elements=VALUES))
    return a, draw(arrays(np.float64, size, elements=VALUES))


def in_parts(a, b, cut: int) -> ErrorMoments:
    total = ErrorMoments()
    for begin in range(0, len(a), cut):
        total = total + moments_of(a[begin : begin + cut], b[begin : begin + cut])
    return total


@settings(deadline=None)
@given(pairs(), st.integers(1, 20))
def test_parts_add_up_to_what_numpy_says_of_the_whole(pair, cut) -> None:
    a, b = pair
    found = in_parts(a, b, cut)
    error = b.astype(np.longdouble) - a
    largest = float(np.abs(np.concatenate([a, b])).max()) or 1.0

    def near(value, wanted):
        assert value == pytest.approx(float(wanted), rel=1e-9, abs=1e-13 * largest)

    assert found.count == len(a)
    near(found.mean_absolute_error, np.abs(error).mean())
    near(found.rmse, np.sqrt((error**2).mean()))
    near(found.bias, error.mean())
    near(found.norm, np.sqrt((a.astype(np.longdouble) ** 2).mean()))
    near(found.spread, a.astype(np.longdouble).std())


@settings(deadline=None)
@given(pairs(), st.integers(1, 20))
def test_angles_and_slopes_are_numpys(pair, cut) -> None:
    a, b = pair
    found = in_parts(a, b, cut)
    if np.linalg.norm(a) > 1e-3 and np.linalg.norm(b) > 1e-3:
        wanted = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert found.cosine == pytest.approx(wanted, abs=1e-7)
    spread = a.std() > 1e-3 * (np.abs(a).max() + 1e-9) and b.std() > 1e-3 * np.abs(b).max()
    if spread and len(a) > 2:
        assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-7)
        slope = np.polyfit(a / a.std(), b / a.std(), 1)[0]
        assert found.slope == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_decibels_are_those_of_the_definition_and_a_large_offset_costs_no_digits() -> None:
    a = np.array([0.0, 1.0, -3.0, 4.0])
    b = a + np.array([0.1, -0.1, 0.1, 0.1])
    found = moments_of(a, b)
    assert found.snr_db == pytest.approx(10 * math.log10((a @ a) / 0.04))
    assert found.psnr_db(-3.0, 4.0) == pytest.approx(10 * math.log10(49 / 0.01))
    generator = np.random.default_rng(0)
    a = generator.standard_normal(10_000) + 1e6
    b = a + 1e-3 * generator.standard_normal(10_000)
    found = in_parts(a, b, 700)
    assert found.spread == pytest.approx(a.std(), rel=1e-8)
    assert found.rmse == pytest.approx(float(np.sqrt(np.square(b - a).mean())), rel=1e-9)
    assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-9)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e-160, 5e-324])
def test_values_near_the_ends_of_float64_neither_overflow_nor_vanish(size) -> None:
    a = size * np.array([1.0, 0.5, -1.0, 0.25])
    found = in_parts(a, 0.5 * a, 1)
    whole = moments_of(a, 0.5 * a)
    if size > 1e-320:
        assert found.rmse == pytest.approx(0.5 * whole.norm)
        assert whole.slope == pytest.approx(0.5)
    assert whole.cosine == pytest.approx(1.0) or size < 1e-320
    assert math.isfinite(found.rmse)


def test_small_and_large_parts_zeros_and_factors_have_their_moments() -> None:
    small = (1e-200 * np.array([1.0, 2.0]), 1e-200 * np.array([1.0, 3.0]))
    large = (1e200 * np.array([1.0, -2.0]), 1e200 * np.array([1.0, -2.0]))
    one, other = moments_of(*small) + moments_of(*large), moments_of(*large) + moments_of(*small)
    assert one.norm == pytest.approx(other.norm)
    assert one.norm == pytest.approx(1e200 * math.sqrt(5 / 4))
    assert (ErrorMoments().rmse, ErrorMoments().error_to_spread) == (None, None)
    zeros = moments_of(np.zeros(4), np.zeros(4))
    assert (zeros.rmse, zeros.error_to_spread, zeros.cosine, zeros.snr_db) == (0.0, 0.0, None, None)
    assert moments_of(np.zeros(4), np.ones(4)).error_to_spread is None
    found = moments_of(np.full(16, 2.0), np.full(16, 2.02))
    assert found.is_constant
    assert (found.error_to_spread, found.correlation) == (pytest.approx(0.01), None)
    assert found.slope == pytest.approx(1.01)
    assert found.systematic_share == pytest.approx(1.0)
    generator = np.random.default_rng(1)
    a = generator.standard_normal(4_000)
    assert moments_of(a, 1.01 * a).systematic_share == pytest.approx(1.0)
    assert moments_of(a, a + 0.1).systematic_share == pytest.approx(1.0)
    assert moments_of(a, a + 0.01 * generator.standard_normal(4_000)).systematic_share < 0.01
    assert moments_of(a, a).systematic_share is None


GENERATOR = np.random.default_rng(0)


def sums(*pairs: tuple[Any, Any]) -> ChannelAxes:
    axes = ChannelAxes()
    for sample, (a, b) in enumerate(pairs):
        axes.add(tensor(a), tensor(b), sample)
    return axes


@pytest.mark.parametrize("chunk", [1, 50, 1 << 15])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 7, 3, 5), (1, 3)),
        ((4, 9), (1,)),
        ((1, 9, 8, 3), (1, 3)),
        ((6,), (0,)),
        ((1, 1, 6), (2,)),
    ],
)
def test_figures_by_channel_are_numpys_on_whole_arrays(shape, axes, chunk, monkeypatch) -> None:
    monkeypatch.setattr(channel_errors, "CHUNK", chunk)
    a, b = GENERATOR.standard_normal((2, 3, *shape))
    a[1].flat[4] = np.nan
    b[2].flat[3] = np.inf
    found = sums(*zip(a, b, strict=True))
    assert tuple(errors.axis for errors in found.axes) == axes
    known = np.isfinite(a) & np.isfinite(b)
    for errors in found.axes:
        others = tuple(at for at in range(a.ndim) if at != errors.axis + 1)
        count = known.sum(axis=others)
        np.testing.assert_array_equal(errors.count, count)
        error, reference = np.where(known, b - a, 0), np.where(known, a, 0)
        np.testing.assert_allclose(errors.rmse, np.sqrt(np.square(error).sum(axis=others) / count))
        norm = np.sqrt(np.square(reference).sum(axis=others) / count)
        np.testing.assert_allclose(errors.norm, norm)
        np.testing.assert_allclose(errors.total, reference.sum(axis=others), atol=1e-12)
        np.testing.assert_array_equal(errors.largest, np.abs(error).max(axis=others))
        np.testing.assert_array_equal(errors.high, np.abs(reference).max(axis=others))
        np.testing.assert_array_equal(errors.low, np.where(known, a, np.inf).min(axis=others))
        by_sample = np.abs(error).max(axis=tuple(at for at in others if at))
        np.testing.assert_array_equal(errors.where, by_sample.argmax(axis=0))


def test_elements_and_axes_that_do_not_fit_do_not_count() -> None:
    a = np.array([[1.0, np.nan], [2.0, np.nan]])
    (errors,) = sums((a, a)).axes
    assert (errors.count.tolist(), errors.rmse[0]) == ([2, 0], 0)
    assert np.isnan(errors.rmse[1])
    assert np.isnan(errors.norm[1])
    rows = [np.ones((1, count, 6)) for count in (3, 5)]
    assert [errors.axis for errors in sums(*zip(rows, rows, strict=True)).axes] == [2]
    none = np.ones((1, 0, 6))
    (columns,) = sums((rows[0], rows[0]), (none, none), (rows[1], rows[1])).axes
    assert columns.count.tolist() == [8] * 6
    # The last axis is the same whatever comes before.
    flat, deep = np.ones((4, 6)), np.ones((2, 2, 6))
    (errors,) = sums((flat, flat), (deep, deep)).axes
    assert (errors.axis, errors.count.tolist()) == (2, [8] * 6)
    values = np.ones((1, 8, 8, 8))
    assert sums((values, values)).shown().axis == 1


CHANNELS = {
    1: [(1, 4, 8, 9), (1, 255, 20, 20), (1, 3, 20, 20, 85), (1, 18, 120, 160), (1, 22, 2100)],
    3: [(1, 9, 8, 3), (1, 20, 20, 255), (1, 120, 160, 18)],
    None: [(1, 1, 30, 40), (1, 1), ()],
}


@pytest.mark.parametrize("axis", CHANNELS)
def test_the_axis_of_channels_is_not_that_of_places(axis) -> None:
    for shape in CHANNELS[axis]:
        found = sums((np.ones(shape), np.ones(shape)))
        shown = found.shown()
        assert (shown.axis if shown else None) == axis, shape
        if len(shape) == 4 and axis is not None:  # the other axis of a map is one of places
            assert {errors.axis for errors in found.axes if errors.is_spatial} == {4 - axis}, shape
            assert len(found.axes) == 2


def test_sums_of_several_samples_have_products_and_the_first_of_equal_errors() -> None:
    reference = [np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([[0.5, 1.0], [2.0, np.nan]])]
    error = [np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([[1.0, -1.0], [0.5, 0.0]])]
    (errors,) = sums(*((r, r + e) for r, e in zip(reference, error, strict=True))).axes
    assert (errors.samples, errors.count.dtype) == (2, np.int64)
    assert errors.count.tolist() == [4, 3]
    assert errors.cross == pytest.approx([0.1 + 0.9 + 0.5 + 1.0, -0.4 - 1.6 - 1.0])
    assert (errors.where.dtype, errors.where.tolist()) == (np.int64, [1, 1])
    values = np.zeros((4, 3))
    (errors,) = sums((values, values), (values, values + 1), (values, values - 1)).axes
    assert errors.where.tolist() == [1, 1, 1]
    axes = ChannelAxes()
    axes.add(tensor(np.zeros((4, 3))), tensor(np.ones((4, 3))))
    assert axes.axes[0].where.tolist() == [0, 0, 0]
    assert sums((np.ones((1, 10)), np.ones((1, 10)))).shown().axis == 1


def test_the_type_decides_which_channels_are_summed_and_how() -> None:
    values = np.arange(12).reshape(4, 3)
    (errors,) = sums((values, values + 2)).axes
    assert errors.rmse.tolist() == [2.0, 2.0, 2.0]
    assert sums((values > 3, values > 4)).axes == ()
    values = np.full((5000, 2), 100, np.float16)
    (errors,) = sums((values, values + np.float16(1))).axes
    assert errors.energy.tolist() == [5000 * 100.0**2] * 2
    assert errors.squares.tolist() == [5000.0] * 2
    values = np.array([[1e300, 1.0], [-1e300, 1.0]])
    (errors,) = sums((values, -values)).axes
    assert np.isinf(errors.rmse[0])
    assert errors.largest.tolist() == [2e300, 2.0]


@pytest.mark.parametrize(("length", "expected"), [(1, 0), (2, 1), (1 << 17, 1), ((1 << 17) + 1, 0)])
def test_an_axis_of_channels_has_2_to_131072(length, expected) -> None:
    values = np.ones((1, length), np.float32)
    assert len(sums((values, values)).axes) == expected
