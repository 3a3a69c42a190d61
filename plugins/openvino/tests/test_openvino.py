"""OpenVINO through enginescope's own API: times, outputs, and the graph that it executes."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import enginescope
from enginescope.backends.registry import backend_of, read_spec
from enginescope.records.plan.plan import Layer
from enginescope.records.run.job import Mode, StopRule, Workload

if not os.environ.get("ENGINESCOPE_TEST_STRICT"):
    pytest.importorskip("openvino")
    pytest.importorskip("enginescope_openvino")

import openvino
from enginescope_openvino.runtime_graph import profile_of


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write Conv, Relu, Conv, Add, GlobalAveragePool, Flatten and Gemm."""
    chance = np.random.default_rng(0)
    weights = {
        "w0": chance.standard_normal((8, 3, 3, 3)),
        "w1": chance.standard_normal((8, 8, 3, 3)),
        "w2": chance.standard_normal((8, 10)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], name="first", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Conv", ["b", "w1"], ["c"], name="second", pads=[1] * 4),
        helper.make_node("Add", ["c", "b"], ["d"], name="add"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], name="pool"),
        helper.make_node("Flatten", ["e"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w2"], ["scores"], name="scores_of"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    path = tmp_path_factory.mktemp("model") / "small.onnx"
    onnx.save(made, path)
    return path


def test_a_run_has_times_and_the_executed_graph(model: Path, tmp_path: Path) -> None:
    workload = Workload(stop=StopRule(iterations=30))
    run = enginescope.bench(model, on="openvino", workload=workload, store=tmp_path).run
    assert run.outcome.kind.value == "ok"
    assert run.headline is not None
    assert len(run.headline) == 30
    assert run.plan is not None
    assert run.profile is not None
    held = Counter(name for layer in run.plan.layers for name in layer.onnx_nodes)
    nodes = ("first", "relu", "second", "add", "pool", "flat", "scores_of")
    assert held == dict.fromkeys(nodes, 1)
    assert {"first", "second"} <= {layer.name for layer in run.plan.layers}
    timed = {layer.name for layer in run.profile.layers}
    assert timed == {layer.name for layer in run.plan.layers}
    assert {one.tensor.name for one in run.plan.inputs} == {"x"}
    assert {one.tensor.name for one in run.plan.outputs} == {"scores"}


def test_outputs_are_those_of_onnx_runtime(model: Path, tmp_path: Path) -> None:
    found = enginescope.validate(model, on="openvino", store=tmp_path)
    assert all(side.passes for side in found.sides), found


def test_inputs_of_one_sample_do_not_reach_the_next(model: Path, tmp_path: Path) -> None:
    found = enginescope.validate(model, on=["openvino", "openvino"], samples=16, store=tmp_path)
    assert all(side.passes for side in found.sides), found


def test_throughput_has_several_requests_in_flight(model: Path, tmp_path: Path) -> None:
    mode = Mode(kind="throughput", in_flight=3)
    workload = Workload(stop=StopRule(iterations=60), mode=mode)
    run = enginescope.bench(model, on="openvino", workload=workload, store=tmp_path).run
    assert run.outcome.kind.value == "ok"
    assert run.job.workload.mode.in_flight == 3


def test_explore_measures_and_shows_one_time_for_each_layer(model: Path, tmp_path: Path) -> None:
    workload = Workload(stop=StopRule(iterations=80))
    found = enginescope.explore(model, on="openvino", workload=workload, store=tmp_path)
    time = found.found.time
    assert time is not None
    assert time.statistic == "mean"
    assert time.whole_ms is not None
    listed = [one.row.time_ms or 0.0 for one in found.layers if not one.row.is_container]
    assert sum(listed) == pytest.approx(time.sum_ms)
    again = enginescope.explore("latest", store=tmp_path)
    assert [one.row.time_ms for one in again.layers] == [one.row.time_ms for one in found.layers]


class _Node:
    """What OpenVINO reports of a node."""

    def __init__(self, name: str, micros: int) -> None:
        self.node_name = name
        self.real_time = timedelta(microseconds=micros)


def _layers(*names: str) -> list[Layer]:
    return [Layer(index=at, name=name, type="Convolution") for at, name in enumerate(names)]


def test_a_running_mean_is_taken_apart() -> None:
    """The first request took 900 µs, each later one 100 µs."""
    reports = [
        (requests, [_Node("a", (900 + 100 * (requests - 1)) // requests), _Node("view", 0)])
        for requests in (5, 6, 105)
    ]
    profile = profile_of(reports, [1.0] * 100, "CPU", _layers("a", "view"))
    layer, view = profile.layers
    assert (view.name, view.mean_ms) == ("view", 0.0)
    assert layer.mean_ms == pytest.approx(0.1, abs=0.0011)
    assert profile.iterations == 100


def test_other_devices_report_each_request() -> None:
    reports = [(5, [_Node("a", 900)]), (6, [_Node("a", 100)]), (7, [_Node("a", 300)])]
    (layer,) = profile_of(reports, [1.0, 1.0], "GPU.0", _layers("a")).layers
    assert layer.mean_ms == pytest.approx(0.2)


def test_lint_finds_conversions_of_the_executed_graph(tmp_path: Path) -> None:
    path = tmp_path / "cast.onnx"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Cast", ["a"], ["y"], name="cast", to=TensorProto.INT32),
    ]
    graph = helper.make_graph(
        nodes,
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [64, 64])],
        [numpy_helper.from_array(np.eye(64, dtype=np.float32), "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.save(made, path)
    workload = Workload(stop=StopRule(iterations=20))
    view = enginescope.bench(path, on="openvino", workload=workload)
    report = enginescope.lint(view)
    messages = [one.message for one in report.findings if one.code == "PLAN104"]
    assert messages == ["converts FP32 to INT32"]


def test_a_suite_has_a_column_beside_onnx_runtime(model: Path, tmp_path: Path) -> None:
    request = enginescope.SuiteRequest(
        source=model.parent, backends=("ort-cpu", "openvino"), mode="both", max_time="300ms"
    )
    found = enginescope.run_suite(request, store=tmp_path)
    rows = {row.cell.job.backend.name: row for row in found.result.rows}
    assert {name: row.status.value for name, row in rows.items()} == {
        "ort-cpu": "ok",
        "openvino": "ok",
    }
    assert "openvino" in rows["openvino"].versions


def test_a_model_cache_is_written_and_used(model: Path, tmp_path: Path) -> None:
    workload = Workload(stop=StopRule(iterations=20))
    cache = tmp_path / "cache"
    for _ in range(2):
        run = enginescope.bench(model, on=f"openvino?cache_dir={cache}", workload=workload).run
        assert {one.name for one in run.phases} >= {"load", "first_inference"}
    assert list(cache.glob("*.blob"))


def test_an_unknown_option_is_named(model: Path) -> None:
    with pytest.raises(enginescope.EnginescopeError, match="num_stream"):
        enginescope.bench(model, on="openvino?num_stream=2")


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("openvino:fp32", None),
        ("openvino:bf16", "bf16"),
        ("openvino?execution_mode_hint=ACCURACY", None),
        ("openvino?INFERENCE_PRECISION_HINT=f16", "fp16"),
    ],
)
def test_the_smaller_type_that_fp32_may_be_computed_in(on: str, expected: str | None) -> None:
    spec = read_spec(on)
    assert backend_of(spec).unasked_precision(spec) == expected


def test_a_cpu_with_bf16_computes_in_it_unasked() -> None:
    capabilities = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    spec = read_spec("openvino")
    expected = "bf16" if "BF16" in capabilities else None
    assert backend_of(spec).unasked_precision(spec) == expected
