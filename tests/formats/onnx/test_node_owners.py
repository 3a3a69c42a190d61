from __future__ import annotations

from pathlib import Path

from onnx import TensorProto, helper

from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.records.plan.plan import Layer
from tests.backends.onnxruntime.models import info, write


def test_a_constant_of_a_node_that_its_producer_places_has_an_owner(tmp_path: Path) -> None:
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
    (layer,) = with_onnx_nodes([Layer(index=0, name="k", type="Relu")], {0: ["relu"]}, str(model))
    assert layer.onnx_nodes == ("relu", "size", "reshape")
