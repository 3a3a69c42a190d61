import pytest

from enginescope.analysis.onnx.onnx_map import node_elements, node_macs
from enginescope.formats.onnx.onnx_graph import OnnxNode

SHAPES = {
    "image": (2, 8, 10, 10),
    "kernel": (4, 2, 3, 3),
    "conv": (2, 4, 8, 8),
    "up": (8, 2, 2, 2),
    "wide": (2, 8, 20, 20),
    "a": (3, 6, 7),
    "b": (7, 5),
    "c": (3, 6, 5),
    "left": (6, 7),
    "right": (5, 7),
    "out": (6, 5),
    "loose": (None, 7),
    "bias": (5,),
}


def node(kind: str, *reads: str, writes: tuple[str, ...] = ("c",), domain: str = "") -> OnnxNode:
    return OnnxNode(index=0, name="n", op_type=kind, domain=domain, inputs=reads, outputs=writes)


@pytest.mark.parametrize(
    ("one", "macs"),
    [
        (node("Conv", "image", "kernel", writes=("conv",)), 2 * 4 * 64 * 18),
        (node("QLinearConv", "image", "s", "z", "kernel", writes=("conv",)), 2 * 4 * 64 * 18),
        (node("ConvTranspose", "image", "up", writes=("wide",)), 2 * 8 * 100 * 8),
        (node("MatMul", "a", "b"), 3 * 6 * 5 * 7),
        (node("MatMulInteger", "a", "b"), 3 * 6 * 5 * 7),
        (node("Gemm", "left", "right", "bias", writes=("out",)), 6 * 5 * 7),
        (node("Relu", "a"), 0),
        (node("MatMul", "loose", "b", writes=("gone",)), None),
        (node("Conv", "image", writes=("conv",)), None),
        (node("ConvTranspose", "gone", "up"), None),
        (node("Gemm", "left", "gone", writes=("out",)), None),
        (node("LSTM", "a"), None),
        (node("MatMul", "a", "b", domain="com.own"), None),
    ],
)
def test_multiply_accumulates_of_nodes(one: OnnxNode, macs: int | None) -> None:
    assert node_macs(one, SHAPES) == macs


def test_elements() -> None:
    assert node_elements(node("Split", writes=("b", "", "out")), SHAPES) == 65
    assert node_elements(node("Split", writes=("b", "loose")), SHAPES) is None
