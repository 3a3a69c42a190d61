"""Models as they come: types that NumPy lacks, newer IR versions, no items, odd outputs."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import enginescope as es
from enginescope.backends.loop import OutputLook


def model(path: Path, kind: int, shape: list[int | str], node: str = "Cast", **more: int) -> Path:
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    fields = {"to": TensorProto.FLOAT} if node == "Cast" else {}
    net = helper.make_graph([helper.make_node(node, ["x"], ["y"], **fields)], "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 21)]
    made = helper.make_model(net, ir_version=more.get("ir", 10), opset_imports=opsets)
    path.write_bytes(made.SerializeToString())
    return path


def measured(path: Path) -> es.RunView:
    return es.bench(path, on="ort-cpu", workload=es.Workload(stop=es.StopRule(iterations=20)))


@pytest.mark.parametrize(
    "kind",
    [
        *(TensorProto.INT4, TensorProto.UINT4, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN),
        *(TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2),
    ],
)
def test_types_that_numpy_lacks_are_filled_at_random(tmp_path, kind) -> None:
    run = measured(model(tmp_path / "m.onnx", kind, ["n", 7]))
    assert run.latency is not None
    assert "W-OUTPUTS" not in {notice.code for notice in run.notices}


def test_newer_ir_versions_and_queries_without_items(tmp_path) -> None:
    run = measured(model(tmp_path / "m.onnx", TensorProto.FLOAT, [1, 3], "Neg", ir=99))
    (notice,) = (notice for notice in run.notices if notice.code == "I-IR-LOWERED")
    assert "IR version 99" in notice.message
    run = measured(model(tmp_path / "m.onnx", TensorProto.FLOAT, [0, 3], "Neg"))
    assert run.throughput.unit == "queries"


@pytest.mark.parametrize(
    ("first", "last", "faults"),
    [
        ([1.0, 2.0], [1.0, 2.0], []),
        ([np.nan, 1.0], [np.nan, 1.0], []),
        ([np.nan, np.nan], [np.nan, np.nan], ["nan"]),
        ([np.inf, 1.0], [np.inf, 1.0], ["infinite"]),
        ([0.0, 0.0], [0.0, 0.0], ["zero"]),
        ([1.0, 2.0], [1.0, 2.5], ["changing"]),
        ([], [], []),
    ],
)
def test_outputs_are_looked_at(first, last, faults) -> None:
    notices = OutputLook({"y": np.array(first)}).notices({"y": np.array(last)})
    assert [notice.evidence["fault"] for notice in notices] == faults


def test_a_model_of_nan_is_said(tmp_path) -> None:
    value = helper.make_tensor("c", TensorProto.FLOAT, [2], [float("nan")] * 2)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [value],
    )
    path = tmp_path / "nan.onnx"
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(made.SerializeToString())
    (notice,) = (one for one in measured(path).notices if one.code == "W-OUTPUTS")
    assert "NaN" in notice.message
    assert onnx.load(path).ir_version == 8
