from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enginescope.analysis.errors import channel_errors
from enginescope.analysis.errors.channel_errors import ChannelAxes
from tests.analysis.answers import tensor

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
def test_figures_by_channel_are_those_of_numpy_on_whole_arrays(
    shape, axes, chunk, monkeypatch
) -> None:
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
        np.testing.assert_allclose(
            errors.norm, np.sqrt(np.square(reference).sum(axis=others) / count)
        )
        np.testing.assert_allclose(errors.total, reference.sum(axis=others), atol=1e-12)
        np.testing.assert_array_equal(errors.largest, np.abs(error).max(axis=others))
        np.testing.assert_array_equal(errors.high, np.abs(reference).max(axis=others))
        np.testing.assert_array_equal(errors.low, np.where(known, a, np.inf).min(axis=others))
        by_sample = np.abs(error).max(axis=tuple(at for at in others if at))
        np.testing.assert_array_equal(errors.where, by_sample.argmax(axis=0))


def test_elements_that_are_not_finite_are_no_error_of_0() -> None:
    a = np.array([[1.0, np.nan], [2.0, np.nan]])
    (errors,) = sums((a, a)).axes
    assert errors.count.tolist() == [2, 0]
    assert errors.rmse[0] == 0
    assert np.isnan(errors.rmse[1])
    assert np.isnan(errors.norm[1])


def test_an_axis_whose_length_differs_between_samples_is_dropped() -> None:
    rows = [np.ones((1, count, 6)) for count in (3, 5)]
    assert [errors.axis for errors in sums(*zip(rows, rows, strict=True)).axes] == [2]
    none = np.ones((1, 0, 6))
    (columns,) = sums((rows[0], rows[0]), (none, none), (rows[1], rows[1])).axes
    assert columns.count.tolist() == [8] * 6


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((1, 9, 8, 3), 3),
        ((1, 4, 8, 9), 1),
        ((1, 20, 20, 255), 3),
        ((1, 255, 20, 20), 1),
        ((1, 3, 20, 20, 85), 1),
        ((1, 120, 160, 18), 3),
        ((1, 18, 120, 160), 1),
        ((1, 22, 2100), 1),
        ((1, 10), 1),
        ((1, 1, 30, 40), None),
        ((1, 1), None),
        ((), None),
    ],
)
def test_the_axis_of_channels_is_not_that_of_places(shape, axis) -> None:
    values = np.ones(shape)
    shown = sums((values, values)).shown()
    assert (shown.axis if shown else None) == axis


def test_sums_of_several_samples_have_the_references_products() -> None:
    reference = [np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([[0.5, 1.0], [2.0, np.nan]])]
    error = [np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([[1.0, -1.0], [0.5, 0.0]])]
    (errors,) = sums(*((r, r + e) for r, e in zip(reference, error, strict=True))).axes
    assert errors.samples == 2
    assert errors.count.dtype == np.int64
    assert errors.count.tolist() == [4, 3]
    assert errors.cross == pytest.approx([0.1 + 0.9 + 0.5 + 1.0, -0.4 - 1.6 - 1.0])
    assert errors.where.dtype == np.int64
    assert errors.where.tolist() == [1, 1]


def test_the_first_of_equal_errors_is_named() -> None:
    values = np.zeros((4, 3))
    (errors,) = sums((values, values), (values, values + 1), (values, values - 1)).axes
    assert errors.where.tolist() == [1, 1, 1]


def test_a_single_sample_has_number_0() -> None:
    axes = ChannelAxes()
    axes.add(tensor(np.zeros((4, 3))), tensor(np.ones((4, 3))))
    assert axes.axes[0].where.tolist() == [0, 0, 0]


def test_integers_have_channels_and_truth_values_have_none() -> None:
    values = np.arange(12).reshape(4, 3)
    (errors,) = sums((values, values + 2)).axes
    assert errors.rmse.tolist() == [2.0, 2.0, 2.0]
    assert sums((values > 3, values > 4)).axes == ()


def test_half_precision_is_summed_in_double() -> None:
    values = np.full((5000, 2), 100, np.float16)
    (errors,) = sums((values, values + np.float16(1))).axes
    assert errors.energy.tolist() == [5000 * 100.0**2] * 2
    assert errors.squares.tolist() == [5000.0] * 2


def test_errors_beyond_the_range_of_double_are_infinite() -> None:
    values = np.array([[1e300, 1.0], [-1e300, 1.0]])
    (errors,) = sums((values, -values)).axes
    assert np.isinf(errors.rmse[0])
    assert errors.largest.tolist() == [2e300, 2.0]


@pytest.mark.parametrize(("length", "expected"), [(1, 0), (2, 1), (1 << 17, 1), ((1 << 17) + 1, 0)])
def test_an_axis_of_channels_has_2_to_131072(length, expected) -> None:
    values = np.ones((1, length), np.float32)
    assert len(sums((values, values)).axes) == expected


def test_the_axis_is_that_of_the_last_sample() -> None:
    """The last axis is the same whatever comes before."""
    flat, deep = np.ones((4, 6)), np.ones((2, 2, 6))
    (errors,) = sums((flat, flat), (deep, deep)).axes
    assert errors.axis == 2
    assert errors.count.tolist() == [8] * 6


@pytest.mark.parametrize(
    ("shape", "spatial"),
    [((1, 9, 8, 3), 1), ((1, 4, 8, 9), 3), ((1, 20, 20, 255), 1), ((1, 255, 20, 20), 3)],
)
def test_the_other_axis_of_a_map_is_one_of_places(shape, spatial) -> None:
    values = np.ones(shape)
    axes = sums((values, values)).axes
    assert {errors.axis for errors in axes if errors.is_spatial} == {spatial}
    assert len(axes) == 2


def test_a_cube_has_its_channels_first() -> None:
    values = np.ones((1, 8, 8, 8))
    assert sums((values, values)).shown().axis == 1
