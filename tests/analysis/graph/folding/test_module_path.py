import pytest

from enginescope.analysis.graph.folding.levels import module_path, shared_path
from enginescope.records.plan.plan import Layer


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/blocks.3/attn/qkv/MatMul", "blocks.3 attn qkv"),
        ("/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu", "layer1 layer1.0"),
        ("PWN(/neck/act/Relu)", "neck act"),
        ("PWN(PWN(/a/b/Sigmoid), PWN(/a/c/Mul))", "a"),
        ("{ForeignNode[/a/b/Shape.../a/b/c/Add]}", "a b"),
        ("Reformatting CopyNode for Input Tensor 0 to /conv1/Conv + /relu/Relu", ""),
        ("Reformatting CopyNode for Output Tensor 0 to /a/b/Conv", "a b"),
        ("features.3.conv.0.0.weight + QuantizeLinear_104 + Conv_108", None),
        ("layer1.0.conv2.weight + QuantizeLinear_32 + Conv_34", None),
        ("/Conv", ""),
    ],
)
def test_names_with_modules(name: str, path: str | None) -> None:
    found = module_path(Layer(index=0, name=name))
    if path is None:
        assert (
            found
            == {
                "f": ("features", "features.3", "conv", "conv.0", "conv.0.0"),
                "l": ("layer1", "layer1.0", "conv2"),
            }[name[0]]
        )
    else:
        assert found == tuple(path.split())


@pytest.mark.parametrize("name", ["Conv_12", "kgen_myl0_3", "onnx::Conv_239", ""])
def test_names_without_modules(name: str) -> None:
    assert module_path(Layer(index=0, name=name)) is None


def test_onnx_nodes_go_before_the_name_and_a_name_of_slashes_stays_shallow() -> None:
    layer = Layer(index=0, name="__myl_Add_myl1_2", onnx_nodes=("/a/b/Add", "/a/b/c/Mul"))
    assert module_path(layer) == ("a", "b")
    path = module_path(Layer(index=0, name="/x" * 5_000))
    assert path is not None
    assert len(path) <= 16
    assert shared_path([("a", "b", "c"), ("a", "b"), ("a", "b", "d")]) == ("a", "b")
    assert shared_path([("a",), ("b",)]) == ()
