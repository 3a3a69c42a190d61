"""Moments of errors against NumPy on whole arrays, in extended precision where there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from enginescope.analysis.errors.error_moments import ErrorMoments, moments_of

VALUES = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@st.composite
def pairs(draw):
    size = draw(st.integers(1, 60))
    a = draw(arrays(np.float64, size, elements=VALUES))
    b = draw(arrays(np.float64, size, elements=VALUES))
    return a, b


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


def test_decibels_are_those_of_the_definition() -> None:
    a = np.array([0.0, 1.0, -3.0, 4.0])
    b = a + np.array([0.1, -0.1, 0.1, 0.1])
    found = moments_of(a, b)
    assert found.snr_db == pytest.approx(10 * math.log10((a @ a) / 0.04))
    assert found.psnr_db(-3.0, 4.0) == pytest.approx(10 * math.log10(49 / 0.01))


def test_a_large_offset_costs_no_digits() -> None:
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


def test_small_and_large_parts_add_up_in_any_order() -> None:
    small = (1e-200 * np.array([1.0, 2.0]), 1e-200 * np.array([1.0, 3.0]))
    large = (1e200 * np.array([1.0, -2.0]), 1e200 * np.array([1.0, -2.0]))
    one, other = moments_of(*small) + moments_of(*large), moments_of(*large) + moments_of(*small)
    assert one.norm == pytest.approx(other.norm)
    assert one.norm == pytest.approx(1e200 * math.sqrt(5 / 4))


def test_nothing_and_zeros_have_no_angle() -> None:
    assert ErrorMoments().rmse is None
    assert ErrorMoments().error_to_spread is None
    zeros = moments_of(np.zeros(4), np.zeros(4))
    assert (zeros.rmse, zeros.error_to_spread, zeros.cosine, zeros.snr_db) == (0.0, 0.0, None, None)
    off = moments_of(np.zeros(4), np.ones(4))
    assert off.error_to_spread is None


def test_a_constant_reference_is_held_against_its_size() -> None:
    found = moments_of(np.full(16, 2.0), np.full(16, 2.02))
    assert found.is_constant
    assert found.error_to_spread == pytest.approx(0.01)
    assert found.correlation is None
    assert found.slope == pytest.approx(1.01)
    assert found.systematic_share == pytest.approx(1.0)


def test_a_factor_is_systematic_and_noise_is_not() -> None:
    generator = np.random.default_rng(1)
    a = generator.standard_normal(4_000)
    assert moments_of(a, 1.01 * a).systematic_share == pytest.approx(1.0)
    assert moments_of(a, a + 0.1).systematic_share == pytest.approx(1.0)
    noisy = moments_of(a, a + 0.01 * generator.standard_normal(4_000))
    assert noisy.systematic_share < 0.01
    assert moments_of(a, a).systematic_share is None
