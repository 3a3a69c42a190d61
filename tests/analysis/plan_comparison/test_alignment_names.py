import pytest

from enginescope.analysis.plan_comparison.alignment_side import (
    has_numbered_name,
    is_numbered,
    node_names,
)
from enginescope.records.plan.plan import Layer


def named(name: str, *nodes: str) -> Layer:
    return Layer(index=0, name=name, onnx_nodes=nodes)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("/conv", {"/conv"}),
        ("Conv_12 + Relu_13", {"Conv_12", "Relu_13"}),
        ("f.weight + Conv_12 + PWN(Clip_16)", {"f.weight", "Conv_12", "Clip_16"}),
        ("PWN(PWN(/a/Sigmoid), /a/Mul)", {"/a/Sigmoid", "/a/Mul"}),
        ("/a\x1e/b\x1f/c", {"/a", "/b", "/c"}),
        ("/fc/Gemm_myl9_2", {"/fc/Gemm"}),
        (
            "Gemm_1 + (Unnamed Layer* 25) [ElementWise]",
            {"Gemm_1", "(Unnamed Layer* 25) [ElementWise]"},
        ),
        ("Reformatting CopyNode for Input Tensor 0 to /conv", set()),
        ("{ForeignNode[/a.../b]}", set()),
        ("__myl_MulSumAdd_myl24_1", set()),
        ("", set()),
    ],
)
def test_nodes_of_a_name(name: str, nodes: set[str]) -> None:
    assert node_names(named(name)) == nodes


def test_metadata_goes_before_the_name() -> None:
    assert node_names(named("__myl_Res_myl9_1", "/Flatten")) == {"/Flatten"}


@pytest.mark.parametrize(
    ("name", "is_number"),
    [
        ("Conv_12", True),
        ("Identity_380", True),
        ("onnx::Conv_239", True),
        ("(Unnamed Layer* 20) [Constant]", True),
        ("/layer1/conv1", False),
        ("layer1.0.conv1", False),
        ("Conv", False),
    ],
)
def test_mere_numbers(name: str, is_number: bool) -> None:
    assert is_numbered(name) is is_number


@pytest.mark.parametrize(
    ("name", "is_number"),
    [
        ("Conv_12 + Relu_13", True),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_12 + Relu_13", True),
        ("features.0.weight + Conv_12", False),
        ("Reformatting CopyNode for Input Tensor 0 to /conv1/Conv", False),
    ],
)
def test_names_of_mere_numbers(name: str, is_number: bool) -> None:
    assert has_numbered_name(named(name)) is is_number
