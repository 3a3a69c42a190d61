"""Models that are protobuf messages, and that no runtime would load: a result or a named error."""

from pathlib import Path
from typing import Any

import pytest

from enginescope.core.errors import BackendError
from enginescope.formats.onnx.onnx_graph import read_onnx_flow
from enginescope.formats.onnx.onnx_inputs import read_onnx_inputs
from enginescope.formats.onnx.onnx_precision import digest_of, large_weights, onnx_precision

onnx = pytest.importorskip("onnx")


def _saved(folder: Path, *nodes: Any, dtype: int = 1, **weight: Any) -> Path:
    from onnx import TensorProto, helper

    inputs = [helper.make_tensor_value_info("x", 1, ["n"])]
    inputs[0].type.tensor_type.elem_type = dtype
    graph = helper.make_graph(nodes, "net", inputs, [])
    graph.initializer.append(TensorProto(name="w", dims=[3, 3], data_type=dtype))
    if not weight:
        graph.initializer[0].float_data.extend([0.5] * 9)
    for key, value in weight.items():
        graph.initializer[0].data_location = TensorProto.EXTERNAL
        graph.initializer[0].external_data.add(key=key, value=value)
    path = folder / "net.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.mark.parametrize("number", [-1, 255, 1 << 20])
def test_a_type_that_onnx_does_not_know_is_unknown(tmp_path, number) -> None:
    path = _saved(tmp_path, onnx.helper.make_node("Cast", ["x"], ["y"], to=number), dtype=number)
    assert read_onnx_flow(path).tensor("x").dtype is None
    assert onnx_precision(path) == "fp32"


def test_nodes_without_what_they_need(tmp_path) -> None:
    value = onnx.helper.make_tensor("v", 1, [1], [1e30])
    nodes = [
        onnx.helper.make_node("Constant", [], [], value=value),
        onnx.helper.make_node("Gather", ["w"], ["a"]),
        onnx.helper.make_node("Gather", ["w", "b"], ["c"]),
        onnx.helper.make_node("Cast", [], ["b"], to=7),
    ]
    path = _saved(tmp_path, *nodes)
    assert read_onnx_inputs(path).tables == {}
    assert large_weights(path, 1.0) == ()


def test_a_chain_of_casts_that_ends_in_itself(tmp_path) -> None:
    nodes = [
        onnx.helper.make_node("Cast", ["a"], ["b"], to=7),
        onnx.helper.make_node("Cast", ["b"], ["a"], to=7),
        onnx.helper.make_node("Gather", ["w", "a"], ["c"]),
    ]
    assert read_onnx_inputs(_saved(tmp_path, *nodes)).tables == {}


@pytest.mark.parametrize("name", ["net.bin", "x" * 5000, "\0", "../net.bin"])
def test_weights_in_a_file_that_is_not_there(tmp_path, name) -> None:
    path = _saved(tmp_path, location=name)
    with pytest.raises(BackendError, match=r"net\.onnx"):
        large_weights(path, 1.0)
    with pytest.raises(BackendError, match=r"net\.onnx"):
        digest_of(str(path))
