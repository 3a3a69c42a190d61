from onnx import TensorProto, helper

from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.records.plan.plan import Layer
from tests.backends.onnxruntime.models import info, write


def test_a_constant_of_a_node_that_its_producer_places_has_an_owner(tmp_path) -> None:
    """BERT's shapes of Reshape nodes belonged to no executed node."""
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [1, 4])
    model = write(
        tmp_path / "m.onnx",
        [
            helper.make_node("Relu", ["x"], ["1"], name="relu"),
            helper.make_node("Constant", [], ["2"], name="size", value=shape),
            helper.make_node("Reshape", ["1", "2"], ["y"], name="reshape"),
        ],
        [info("x", TensorProto.FLOAT, 2, 2)],
        [info("y", TensorProto.FLOAT, 1, 4)],
    )
    (layer,) = with_onnx_nodes([Layer(index=0, name="k", type="Relu")], [(0, "relu")], str(model))
    assert layer.onnx_nodes == ("relu", "size", "reshape")


def test_a_quantization_belongs_to_the_layer_that_computes_its_input(tmp_path) -> None:
    """OpenVINO names it in the convolution before, ONNX Runtime in none: 17 % were not paired."""
    model = write(
        tmp_path / "m.onnx",
        [
            helper.make_node("Conv", ["x", "w"], ["1"], name="first"),
            helper.make_node("Relu", ["1"], ["2"], name="relu"),
            helper.make_node("Identity", ["scale"], ["same"], name="same"),
            helper.make_node("QuantizeLinear", ["2", "same"], ["3"], name="quantize"),
            helper.make_node("DequantizeLinear", ["3", "same"], ["4"], name="dequantize"),
            helper.make_node("Conv", ["4", "w"], ["y"], name="second"),
        ],
        [info(name, TensorProto.FLOAT, 2, 2) for name in ("x", "w", "scale")],
        [info("y", TensorProto.FLOAT, 2, 2)],
    )
    layers = [Layer(index=at, name=f"k{at}", type="QLinearConv") for at in (0, 1)]
    one, other = with_onnx_nodes(layers, [(0, "first"), (1, "second")], str(model))
    assert one.onnx_nodes == ("first", "relu", "same", "quantize")
    assert other.onnx_nodes == ("dequantize", "second")


def test_a_name_that_is_sure_comes_before_one_that_is_not(tmp_path) -> None:
    """MatMul nodes of BERT belonged to the layer that transposed their weights."""
    model = write(
        tmp_path / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        [info(name, TensorProto.FLOAT, 2, 2) for name in ("x", "w")],
        [info("y", TensorProto.FLOAT, 2, 2)],
    )
    layers = [Layer(index=at, name=f"k{at}", type="k") for at in (0, 1)]
    weights, product = with_onnx_nodes(layers, [(1, "product"), (0, "product")], str(model))
    assert (weights.onnx_nodes, product.onnx_nodes) == ((), ("product",))


def test_a_tensor_is_not_taken_for_a_node_of_its_name(tmp_path) -> None:
    model = write(
        tmp_path / "m.onnx",
        [
            helper.make_node("Relu", ["x"], ["b"], name="a"),
            helper.make_node("Relu", ["b"], ["c"], name="fused"),
            helper.make_node("Relu", ["c"], ["y"], name="b"),
        ],
        [info("x", TensorProto.FLOAT, 2)],
        [info("y", TensorProto.FLOAT, 2)],
    )
    layers = [Layer(index=at, name=f"k{at}", type="k") for at in (0, 1)]
    one, other = with_onnx_nodes(layers, [(0, "fused"), (1, "b")], str(model))
    assert (one.onnx_nodes, other.onnx_nodes) == (("a", "fused"), ("b",))
