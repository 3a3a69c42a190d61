"""A model that loads at once and never ends: a loop that adds one to its input."""

from pathlib import Path


def endless(path: Path) -> Path:
    from numpy import array
    from onnx import TensorProto, helper, numpy_helper, save_model

    def value(name, kind, dims):
        return helper.make_tensor_value_info(name, kind, dims)

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["goes_on"]),
            helper.make_node("Add", ["held", "one"], ["next"]),
        ],
        "body",
        [
            value("at", TensorProto.INT64, []),
            value("going", TensorProto.BOOL, []),
            value("held", TensorProto.FLOAT, [1]),
        ],
        [value("goes_on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [1])],
    )
    constants = {"count": array(2**60), "yes": array(True), "one": array([1], "float32")}
    graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=body)],
        "endless",
        [value("x", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, [1])],
        [numpy_helper.from_array(held, name) for name, held in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    save_model(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
    return path
