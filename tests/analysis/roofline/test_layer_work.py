import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginescope.analysis.roofline.layer_work import LayerWork, layer_work, matrix_product_of
from enginescope.analysis.roofline.matrix_product import (
    MatrixProduct,
    convolution,
    deconvolution,
    groups_of,
    matrix_product,
    pooled_extent,
)
from enginescope.records.plan.plan import Layer, Plan, Weights
from enginescope.records.tensor import DataType, Tensor
from tests.analysis import card_plans
from tests.analysis.card_plans import FP16, tensor
from tests.formats import plans


def layer(kind: str, reads: list[tuple], writes: list[tuple], **own: Any) -> Layer:
    def tensors(prefix: str, shapes: list[tuple]) -> list[Tensor]:
        return [tensor(f"{prefix}{at}", *one, dtype=FP16) for at, one in enumerate(shapes)]

    ends = tensors("i", reads), tensors("o", writes)
    return card_plans.layer(0, "a", kind, *ends, weights=own.pop("weights", ()), attributes=own)


def test_products_of_plans_and_kernels_that_are_inputs() -> None:
    copy, conv, no_op = layer_work(plans.parsed(plans.tensorrt_8_4()))
    assert (copy.macs, copy.source, copy.moved_bytes) == (None, None, 768 + 384)
    assert (conv.macs, conv.source, conv.moved_bytes) == (64 * 4 * 27, "plan", 872)
    assert conv.arithmetic_intensity == 64 * 4 * 27 / 872
    assert (conv.compute_efficiency(2.0), conv.memory_efficiency(2.0)) == (64 * 2 * 27, 436)
    assert (conv.compute_efficiency(None), conv.memory_efficiency(0.0)) == (None, None)
    assert (no_op, copy.arithmetic_intensity) == (LayerWork(), None)
    assert layer_work(plans.parsed(plans.tensorrt_10()))[-1].macs == 2560
    own = {"Kernel": [3, 3], "Groups": 1, "ConvXAsActInputIdx": 1}
    one = layer("Convolution", [(8, 4, 3, 3), (1, 4, 8, 8)], [(1, 8, 6, 6)], **own)
    assert matrix_product_of(one).macs == 36 * 8 * 36


@pytest.mark.parametrize(("kind", "moved"), [("Slice", 32), ("Gather", 32), ("Shuffle", 216)])
def test_a_part_of_an_input_is_all_that_is_read(kind: str, moved: int) -> None:
    one = layer(kind, [(100,)], [(8,)])
    assert layer_work(Plan(name="p", layers=(one,)))[0].moved_bytes == moved
    dynamic = layer(kind, [(None,)], [(8,)])
    assert layer_work(Plan(name="p", layers=(dynamic,)))[0].moved_bytes is None


def test_conv_act_pool() -> None:
    pairs = {"Kernel": 7, "Stride": 2, "PrePadding": 3, "PostPadding": 3, "Dilation": 1}
    own = {f"Conv{name}": [value, value] for name, value in pairs.items()}
    own |= {"ConvOutMaps": 64, "ConvGroups": 1, "ConvPaddingMode": "kEXPLICIT_ROUND_DOWN"}
    shapes = ([(32, 3, 224, 224)], [(32, 64, 56, 56)])
    assert matrix_product_of(layer("ConvActPool", *shapes, **own)).macs == 32 * 112 * 112 * 64 * 147
    bare = {key: own[key] for key in ("ConvKernel", "ConvOutMaps")}
    assert matrix_product_of(layer("ConvActPool", [(1, 3, 9, 9)], [(1, 64, 4, 4)], **bare))
    for name, wrong in (("Stride", [2]), ("OutMaps", None), ("Kernel", 7), ("Stride", [0, 1])):
        odd = {**own, f"Conv{name}": wrong}
        assert matrix_product_of(layer("ConvActPool", *shapes, **odd)) is None
    assert matrix_product_of(layer("ConvActPool", [(32, 3, None, 224)], shapes[1], **own)) is None


def test_fully_connected_and_groups() -> None:
    kernel = Weights(role="Weights", dtype=DataType.FP16, count=5120)
    one = layer("FullyConnected", [(2, 512, 1, 1)], [(2, 10, 1, 1)], OutMaps=10, weights=(kernel,))
    found = matrix_product_of(one)
    assert (found.m, found.n, found.k) == (2, 10, 512)
    assert matrix_product_of(layer("FullyConnected", [(2, 512)], [(2, 10)], OutMaps=10)) is None
    odd = layer("FullyConnected", [(2, 512)], [(2, 10)], OutMaps=7, weights=(kernel,))
    assert matrix_product_of(odd) is None
    assert groups_of(Layer(index=0, name="a", attributes={"ConvGroups": 4})) == 4
    assert groups_of(Layer(index=0, name="a", attributes={"Groups": 0})) is None


@pytest.mark.parametrize(
    "one",
    [
        layer("Convolution", [], [(1, 4, 6, 6)], Kernel=[3, 3]),
        layer("Convolution", [(1, 3, 8, 8)], [], Kernel=[3, 3]),
        layer("Convolution", [(1, 3, 8, 8)], [(1, 4, 6, 6)]),
        layer("Convolution", [(1, 3, 8, 8)], [(1, 4, 6, 6)], Kernel=[-3, 3]),
        layer("Convolution", [(1, 3, 8, 8)], [(1, 4, 6, 6)], Kernel=[3, 3], Groups="1"),
        layer("gemm", [(4, 5), (5, 6)], [(4, 3), (4, 3)]),
        layer("Reformat", [(4, 5)], [(4, 5)]),
    ],
)
def test_what_cannot_be_told(one: Layer) -> None:
    assert matrix_product_of(one) is None


def test_the_same_network_computes_the_same(shared) -> None:
    """A ConvActPool layer and deconvolutions included."""

    def macs(name: str) -> int:
        return sum(work.macs or 0 for work in layer_work(plans.recorded(shared, name)))

    stem = "trex-examples/resnet18-a100-"
    assert macs(f"{stem}qat-residual.engine") == macs(f"{stem}fp32.engine") == 58050347008
    assert macs("trt10-rtx3060/alexnet_fp16") == 714188480  # torchvision's AlexNet


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


def test_deconvolutions_and_windows() -> None:
    found = deconvolution((1, 48, 37, 37), (1, 48, 148, 148), (4, 4), 1)
    assert mnk(found) == (1369, 768, 48, 1)
    assert found
    assert found.macs == 37 * 37 * 48 * 48 * 16
    assert mnk(deconvolution((2, 8, 5), (2, 4, 10), (2,), 4)) == (10, 2, 2, 4)
    assert (pooled_extent(10, 3, 1, 0, 2), pooled_extent(2, 3, 1, 0, 1)) == (6, None)
    assert pooled_extent(8, 3, 0, 0, 1) is None


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("kEXPLICIT_ROUND_DOWN", 112), ("kEXPLICIT_ROUND_UP", 113), ("kSAME_UPPER", 112), ("", 112)],
)
def test_windows_by_padding_mode(mode: str, expected: int) -> None:
    assert pooled_extent(224, 7, 2, 6, 1, mode) == expected


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
    assert mnk(matrix_product(tuple(operands), result)) == expected


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
    assert matrix_product(tuple(operands), result) is None


@given(
    m=DIMS, n=DIMS, k=DIMS, batch=st.lists(DIMS, max_size=2), flips=st.tuples(*[st.booleans()] * 2)
)
def test_every_product_is_found_whatever_is_transposed(m, n, k, batch, flips) -> None:
    left = (*batch, k, m) if flips[0] else (*batch, m, k)
    right = (*batch, n, k) if flips[1] else (*batch, k, n)
    found = matrix_product((left, right), (*batch, m, n))
    whole = math.prod(batch) * m * n * k
    if math.prod(left) > 1 and math.prod(right) > 1:
        assert found.macs == whole
