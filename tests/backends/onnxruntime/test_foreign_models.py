"""Models as they come: types that NumPy lacks, newer IR versions, no items, odd outputs."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import enginescope as es
from enginescope.backends.loop import OutputLook
from tests.backends.onnxruntime.models import info, write
from tests.backends.onnxruntime.test_backend import QUICK

pytestmark = pytest.mark.usefixtures("in_process")


def measured(path: Path) -> es.RunView:
    return es.bench(path, on="ort-cpu", workload=QUICK)


def negated(path: Path, items: int, ir: int = 10) -> es.RunView:
    node = make_node("Neg", ["x"], ["y"])
    return measured(write(path, [node], [info("x", items, 3)], [info("y", items, 3)], ir=ir))


@pytest.mark.parametrize(
    "kind",
    [
        *(TensorProto.INT4, TensorProto.UINT4, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN),
        *(TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2),
    ],
)
def test_types_that_numpy_lacks_are_filled_at_random(tmp_path, kind) -> None:
    node = make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    ends = [info("x", "n", 7, kind=kind)], [info("y", "n", 7)]
    run = measured(write(tmp_path / "m.onnx", [node], *ends, opset=21, ir=10))
    assert run.latency is not None
    assert "W-OUTPUTS" not in {notice.code for notice in run.notices}


def test_newer_ir_versions_and_queries_without_items(tmp_path) -> None:
    run = negated(tmp_path / "m.onnx", 1, ir=99)
    (notice,) = (notice for notice in run.notices if notice.code == "I-IR-LOWERED")
    assert "IR version 99" in notice.message
    assert negated(tmp_path / "m.onnx", 0).throughput.unit == "queries"


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
    nodes, c = [make_node("Add", ["x", "c"], ["y"])], np.full(2, np.nan, np.float32)
    path = write(tmp_path / "nan.onnx", nodes, [info("x", 1, 2)], [info("y", 1, 2)], c=c)
    (notice,) = (one for one in measured(path).notices if one.code == "W-OUTPUTS")
    assert "NaN" in notice.message
    assert onnx.load(path).ir_version == 8
