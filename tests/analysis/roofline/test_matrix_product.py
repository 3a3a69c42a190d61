from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.roofline.matrix_product import (
    MatrixProduct,
    convolution,
    deconvolution,
    matrix_product,
    pooled_extent,
)

DIMS = st.integers(1, 9)


def mnk(found: MatrixProduct | None) -> tuple[int, int, int, int] | None:
    return (found.m, found.n, found.k, found.groups) if found else None


@pytest.mark.parametrize(
    ("source", "result", "kernel", "groups", "expected"),
    [
        ((32, 3, 224, 224), (32, 64, 112, 112), (7, 7), 1, (401408, 64, 147, 1)),
        ((1, 32, 112, 112), (1, 32, 112, 112), (3, 3), 32, (12544, 1, 9, 32)),
        ((2, 8, 50), (2, 16, 48), (3,), 4, (96, 4, 6, 4)),
        ((1, 4, 8, 8, 8), (1, 6, 6, 6, 6), (3, 3, 3), 2, (216, 3, 54, 2)),
    ],
    ids=["2-d", "depthwise", "1-d, grouped", "3-d, grouped"],
)
def test_convolutions_of_any_rank(source, result, kernel, groups, expected) -> None:
    assert mnk(convolution(source, result, kernel, groups)) == expected


@pytest.mark.parametrize(
    ("source", "result", "kernel", "groups"),
    [
        (None, (1, 4, 6, 6), (3, 3), 1),
        ((1, 3, 8, 8), None, (3, 3), 1),
        ((None, 3, 8, 8), (None, 4, 6, 6), (3, 3), 1),
        ((1, 3, 8), (1, 4, 6), (3, 3), 1),
        ((1, 3, 8, 8), (1, 4, 6, 6), (3, 3), 2),
        ((1, 4, 8, 8), (1, 3, 6, 6), (3, 3), 2),
        ((1, 4, 8, 8), (1, 4, 6, 6), (3, 3), 0),
    ],
)
def test_what_goes_not_together(source, result, kernel, groups) -> None:
    assert convolution(source, result, kernel, groups) is None
    assert deconvolution(source, result, kernel, groups) is None


def test_deconvolution() -> None:
    found = deconvolution((1, 48, 37, 37), (1, 48, 148, 148), (4, 4), 1)
    assert mnk(found) == (1369, 768, 48, 1)
    assert found
    assert found.macs == 37 * 37 * 48 * 48 * 16
    grouped = deconvolution((2, 8, 5), (2, 4, 10), (2,), 4)
    assert mnk(grouped) == (10, 2, 2, 4)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("kEXPLICIT_ROUND_DOWN", 112), ("kEXPLICIT_ROUND_UP", 113), ("kSAME_UPPER", 112), ("", 112)],
)
def test_windows_by_padding_mode(mode: str, expected: int) -> None:
    assert pooled_extent(224, 7, 2, 6, 1, mode) == expected


def test_windows() -> None:
    assert pooled_extent(10, 3, 1, 0, 2) == 6
    assert pooled_extent(2, 3, 1, 0, 1) is None
    assert pooled_extent(8, 3, 0, 0, 1) is None


@pytest.mark.parametrize(
    ("operands", "result", "expected"),
    [
        ([(1, 9216), (9216, 4096), (1,), (1,), (1, 4096)], (1, 4096), (1, 4096, 9216, 1)),
        ([(197, 384), (1152, 384)], (197, 1152), (197, 1152, 384, 1)),
        ([(2, 197, 384), (384, 1152)], (2, 197, 1152), (394, 1152, 384, 1)),
        ([(2, 197, 384), (384, 1152)], (394, 1152), (394, 1152, 384, 1)),
        ([(12, 197, 64), (12, 64, 197)], (12, 197, 197), (197, 197, 64, 12)),
        ([(12, 64, 197), (12, 197, 64)], (12, 197, 197), (197, 197, 64, 12)),
        ([(2, 4, 8, 3), (4, 3, 5)], (2, 4, 8, 5), (8, 5, 3, 8)),
        ([(8, 16), (1, 32), (16, 32)], (8, 32), (8, 32, 16, 1)),
        ([(7, 5), (5,)], (7, 1), (7, 1, 5, 1)),
        ([(8, 8), (8, 8)], (8, 8), (8, 8, 8, 1)),
    ],
    ids=[
        "with scalars and bias",
        "transposed",
        "one matrix for the batch",
        "flattened batch",
        "batch of both",
        "left transposed",
        "batch broadcast",
        "scale between",
        "vector",
        "square",
    ],
)
def test_matrix_products(operands, result, expected) -> None:
    assert mnk(matrix_product(operands, result)) == expected


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ([(4, 5)], (4, 5)),
        ([(4, 5), (6, 7)], (4, 7)),
        ([(None, 5), (5, 7)], (4, 7)),
        ([(4, 5), (5, 7)], None),
        ([(4, 5), (5, 7)], (None, 7)),
        ([(4, 5), (5, 7)], ()),
        ([(4, 5), (5, 7)], (0, 7)),
        ([None, (5, 7)], (4, 7)),
        ([(3, 4, 6), (2, 6, 5)], (3, 4, 5)),
    ],
)
def test_what_is_no_product(operands, result) -> None:
    assert matrix_product(operands, result) is None


@given(
    m=DIMS, n=DIMS, k=DIMS, batch=st.lists(DIMS, max_size=2), flips=st.tuples(*[st.booleans()] * 2)
)
def test_every_product_is_found_whatever_is_transposed(m, n, k, batch, flips) -> None:
    left = (*batch, k, m) if flips[0] else (*batch, m, k)
    right = (*batch, n, k) if flips[1] else (*batch, k, n)
    found = matrix_product([left, right], (*batch, m, n))
    whole = math.prod(batch) * m * n * k
    if math.prod(left) > 1 and math.prod(right) > 1:
        assert found is not None
        assert found.macs == whole
