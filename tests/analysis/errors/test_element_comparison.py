import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from enginescope.analysis.errors import element_errors, output_tolerance
from enginescope.analysis.errors.element_errors import (
    ULP_EDGES,
    compare_elements,
    ulp_counts,
    ulp_distances,
)
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES, error_counts
from enginescope.core.record import replace
from enginescope.records.tensor import DataType
from tests.analysis.answers import limits, tensor

FP32 = output_tolerance.tolerance_named("fp32")


ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(deadline=None)
@given(st.data())
def test_counts_are_numpys_however_the_array_is_cut(data) -> None:
    shape = data.draw(array_shapes(max_dims=3, max_side=5))
    a = data.draw(arrays(np.float32, shape, elements=ANY))
    b = data.draw(arrays(np.float32, shape, elements=ANY))
    before = element_errors.CHUNK
    element_errors.CHUNK = 7
    try:
        found = compare_elements(tensor(a), tensor(b), limits(rtol=0.1, atol=0.5, mismatch_pct=0.0))
    finally:
        element_errors.CHUNK = before
    close = np.isclose(b.astype(np.float64), a.astype(np.float64), 0.1, 0.5, equal_nan=True)
    assert (found.elements, found.mismatched) == (a.size, int((~close).sum()))
    assert found.unequal == int((~((a == b) | (np.isnan(a) & np.isnan(b)))).sum())
    finite = np.isfinite(a) & np.isfinite(b)
    assert found.moments.count == int(finite.sum())
    assert found.new_nan == int((np.isnan(b) & ~np.isnan(a)).sum())
    assert int(found.errors.sum()) + found.zero_errors == int(finite.sum())
    assert int(found.ulps.sum()) == int(finite.sum())
    if finite.any():
        wide_a, wide_b = (np.where(finite, one, 0).astype(np.float64) for one in (a, b))
        error = np.where(finite, np.abs(wide_b - wide_a), -1)
        assert found.largest.value == error.max()
        assert error[found.largest.place.index] == error.max()


def test_nan_infinities_and_references_of_zero_are_located_and_counted() -> None:
    a = np.zeros((2, 3, 4), np.float32)
    b = a.copy()
    b[1, 2, 0] = np.nan
    b[1, 2, 3] = np.inf
    found = compare_elements(tensor(a), tensor(b), FP32, sample=5)
    assert (found.new_nan, found.new_infinite) == (1, 1)
    assert (found.first_nonfinite.sample, found.first_nonfinite.index) == (5, (1, 2, 0))
    a = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    found = compare_elements(tensor(a), tensor(a), FP32)
    assert (found.disagreeing_nonfinite, found.shared_nonfinite, found.unequal) == (0, 3, 0)
    b = np.array([-np.inf, -np.inf, 0, 1], np.float32)
    found = compare_elements(tensor(a), tensor(b), FP32)
    assert (found.new_infinite, found.lost_nonfinite) == (1, 1)
    a = np.array([0.0, 0.0, 2.0, -4.0], np.float32)
    b = np.array([0.0, 1.0, 2.5, -4.0], np.float32)
    found = compare_elements(tensor(a), tensor(b), FP32)
    assert (found.from_zero, found.largest_relative.value) == (1, 0.25)
    assert found.largest_relative.place.index == (2,)


def test_large_integers_and_texts_are_equal_or_not() -> None:
    a = np.array([2**62, 5], np.int64)
    found = compare_elements(tensor(a), tensor(a + np.array([1, 0])), FP32)
    assert found.unequal == 1
    a, b = np.array([["cat", "dog"]]), np.array([["cat", "cow"]])
    found = compare_elements(tensor(a), tensor(b), FP32)
    assert (found.elements, found.unequal, found.moments.count) == (2, 1, 0)


def test_errors_and_distances_are_counted_between_their_edges() -> None:
    a = np.zeros(3, np.float64)
    found = compare_elements(tensor(a), tensor(np.array([2e-3, 0.0, 1e9])), FP32)
    (low, high) = np.flatnonzero(found.errors)
    assert HISTOGRAM_EDGES[low - 1] < 2e-3 <= HISTOGRAM_EDGES[low]
    assert high == len(HISTOGRAM_EDGES)
    one = np.float32(1)
    b = np.float32([one, np.nextafter(one, np.float32(2)), one + 3 * np.float32(2**-23), 2])
    found = compare_elements(tensor(np.full(4, one)), tensor(b), FP32)
    wanted = [0, 1, ULP_EDGES.index(4), ULP_EDGES.index(1 << 24)]
    assert np.flatnonzero(found.ulps).tolist() == wanted


@given(arrays(np.float64, st.integers(0, 60), elements=st.floats(0, allow_infinity=True)))
def test_errors_are_counted_as_a_search_would(errors) -> None:
    edges = np.asarray(HISTOGRAM_EDGES)
    errors = np.concatenate([errors, edges, np.nextafter(edges, 0), np.nextafter(edges, np.inf)])
    found = np.searchsorted(edges, errors[errors > 0])
    assert error_counts(errors).tolist() == np.bincount(found, minlength=edges.size + 1).tolist()


@given(arrays(np.uint64, st.integers(0, 60), elements=st.integers(0, 2**64 - 1)))
def test_distances_are_counted_as_a_search_would(distances) -> None:
    edges = np.asarray(ULP_EDGES, np.uint64)
    distances = np.concatenate([distances, edges, edges + 1, edges[1:] - 1]).astype(np.uint64)
    found = np.searchsorted(edges, distances)
    assert ulp_counts(distances).tolist() == np.bincount(found, minlength=edges.size + 1).tolist()


@pytest.mark.parametrize("dtype", [DataType.FP16, DataType.FP32, DataType.FP64])
def test_neighbours_are_one_place_apart_across_zero(dtype) -> None:
    kind = {DataType.FP16: np.float16, DataType.FP32: np.float32, DataType.FP64: np.float64}[dtype]
    values = np.array([-1, -0.0, 0.0, 1, 65504 / 2], kind)
    after = np.nextafter(values, kind(np.inf))
    assert ulp_distances(values, after, dtype).tolist() == [1, 1, 1, 1, 1]
    assert ulp_distances(after, values, dtype).tolist() == [1, 1, 1, 1, 1]
    assert ulp_distances(values, values, dtype).tolist() == [0] * 5
    tiny = np.finfo(kind).smallest_subnormal
    assert ulp_distances(np.array([-tiny]), np.array([tiny]), dtype).tolist() == [2]


def test_bfloat16_fp8_and_four_bits_are_decoded() -> None:
    bits = np.array([0x3F80, 0xC000], np.uint16)  # 1, −2
    near = np.array([0x3F81, 0xC000], np.uint16)
    both = (tensor(values, dtype=DataType.BF16) for values in (bits, near))
    found = compare_elements(*both, FP32)
    assert (found.largest.value, found.ulps[1]) == (2**-7, 1)
    assert (found.low, found.high) == (-2.0, 1.0)
    codes = np.array([0x38, 0xB8, 0x00, 0x7E], np.uint8)
    for dtype, ends in ((DataType.FP8, (-1.0, 448.0)), (DataType.E8M0, (2.0**-127, 2.0**57))):
        values = tensor(codes, dtype=dtype)
        found = compare_elements(values, values, FP32)
        assert (found.low, found.high) == ends
    for dtype, ends in ((DataType.FP4, (-1.0, 1.0)), (DataType.INT4, (-6, 2))):
        pair = replace(tensor(np.array([0x2A], np.uint8), dtype=dtype), shape=(2,))
        found = compare_elements(pair, pair, FP32)
        assert (found.low, found.high, found.elements) == (*ends, 2)
