"""Sensitive layers: real outputs of small models, planted latencies in place of measured ones."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import enginescope as es
from enginescope.analysis.sensitivity.layer_ranking import layers_of
from enginescope.backends.onnxruntime.convert.fp16 import Fp16Options, convert
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.formats.onnx.onnx_graph import FlowNode, FlowTensor, OnnxFlow
from enginescope.judge import experiment
from enginescope.judge.verdict import VerdictKind
from enginescope.records.tensor import DataType
from enginescope.runner import session
from tests.fakes.models import save, value
from tests.plants.in_process import workers_in_process
from tests.services.test_tune import Planted

WIDTH = 32
SHORT = es.Workload(stop=es.StopRule(iterations=24))


def chain(path: Path, *, loud: int | None = None, outlier: int | None = None, first: str = ""):
    """Write three products, each with a Relu.

    Args:
        path:
        loud: The product whose weights are beyond FP16; a division follows.
        outlier: The product with a weight of 1,000 that no output depends on: eight bits leave
            nothing of the others.
        first: Operator before the first product.
    """
    draw = np.random.default_rng(1)
    nodes, weights, last = [], {}, "x"
    if first:
        weights |= (axis := {"axis": np.array(1)} if first == "CumSum" else {})
        nodes.append(helper.make_node(first, ["x", *axis], ["f"], name="first"))
        last = "f"
    for at in range(3):
        name = f"fc{at}"
        weight = (draw.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
        if at == loud:
            weight *= np.float32(2**22)
        if at == outlier:
            weight[0, 0] = 1e3
        if outlier is not None and at == outlier + 1:
            weight[0] = 0
        weights[f"w{at}"] = weight
        nodes.append(helper.make_node("MatMul", [last, f"w{at}"], [f"m{at}"], name=name))
        last = f"m{at}"
        if at == loud:
            weights["much"] = np.float32(2**22)
            nodes.append(helper.make_node("Div", [last, "much"], ["d"], name="divide"))
            last = "d"
        nodes.append(helper.make_node("Tanh", [last], [f"r{at}"], name=f"act{at}"))
        last = f"r{at}"
    return save(path, nodes, [value("x", [4, WIDTH])], [value(last, [4, WIDTH])], **weights)


@pytest.fixture
def planted(monkeypatch):
    """A function that plants medians by job; outputs are computed in this process."""

    def plant(level) -> Planted:
        runs = Planted(level)
        monkeypatch.setattr(session, "run_jobs", runs)
        return runs

    with workers_in_process():
        yield plant


def measured(model: Path, **more) -> es.SensitivityReport:
    return es.sensitivity(
        model, **{"samples": 4, "workload": SHORT, "store": model.parent / "store", **more}
    )


def kept_nodes(job) -> int:
    if job.backend.precision is None:
        return 6
    return len(list(filter(None, job.backend.options.get("node_block_list", "").split(","))))


def test_a_layer_that_overflows_is_named_first_and_kept(tmp_path, planted) -> None:
    planted(lambda job: 1.0 + 0.1 * kept_nodes(job))
    report = measured(chain(tmp_path / "net.onnx", loud=1))
    first = report.layers[0]
    assert (first.name, first.rank, first.alone.passes) == ("fc1", 1, False)
    assert first.alone.error > 0.1
    assert first.nodes == ("fc1", "divide", "act1")
    assert report.keep == ("fc1",)
    assert report.use == "ort-cpu:fp16?node_block_list=fc1,divide,act1"
    assert report.proposal.passes
    assert report.kind is VerdictKind.FASTER
    assert (report.ordered_by, report.order[-1]) == ("error per time saved", "fc1")
    assert report.evidence is not None
    assert [len(report.cumulative[one.number].layers) for one in report.front] == [3, 2, 1, 0]
    assert all(one.is_distinct for one in report.front[1:])


def test_harmless_layers_cost_time_and_a_limit_keeps_more(tmp_path, planted) -> None:
    planted(lambda job: 2.0 if job.backend.precision else 1.0)
    report = measured(chain(tmp_path / "net.onnx"))
    assert report.is_harmless
    assert report.keep == ()
    assert report.kind is VerdictKind.SLOWER
    assert report.ordered_by == "error"
    assert [one.number for one in report.front] == [0]
    assert all(layer.alone.time.is_loss for layer in report.layers)
    assert str(report).startswith("<SensitivityReport every layer of net.onnx is harmless in fp16")
    planted(lambda _job: 1.0)
    model = chain(tmp_path / "net.onnx")
    whole = measured(model, rounds=3)
    strict = measured(model, rounds=3, max_error=whole.whole.error * 0.99)
    assert whole.keep == ()
    assert strict.keep
    assert strict.proposal.error <= whole.whole.error * 0.99


def test_int8_names_the_layer_with_an_outlier(tmp_path, planted) -> None:
    planted(lambda _job: 1.0)
    report = measured(chain(tmp_path / "net.onnx", outlier=1), to="int8", rounds=3)
    first = report.layers[0]
    assert (first.name, first.alone.passes) == ("fc1", False)
    assert report.keep == ("fc1",)
    assert (report.use, report.exclude) == (None, ("fc1", "act1"))
    assert report.kind is not VerdictKind.FASTER
    assert {one.code for one in report.notices} == {"W-RANDOM-CALIBRATION"}


@pytest.mark.parametrize(("to", "operator"), [("fp16", "CumSum"), ("int8", "Sin")])
def test_what_the_converter_leaves_in_fp32_has_no_error(tmp_path, planted, to, operator) -> None:
    planted(lambda _job: 1.0)
    report = measured(chain(tmp_path / "net.onnx", first=operator), to=to, rounds=3, samples=1)
    (same,) = (layer for layer in report.layers if layer.alone.state == "unchanged")
    assert same.operators == (operator,)
    assert (same.alone.error, same.alone.time, same.rank) == (None, None, None)
    assert operator in same.alone.why
    assert same.name not in (*report.order, *report.keep)


def test_a_round_that_the_time_cuts_off_does_not_count(tmp_path, planted, monkeypatch) -> None:
    runs = planted(lambda _job: 1.0)
    model = chain(tmp_path / "net.onnx")
    report = measured(model, max_time_s=1e-3)  # nothing is claimed
    assert {layer.alone.state for layer in report.layers} == {"unreached"}
    assert (report.proposed, report.kind, runs.jobs) == (None, VerdictKind.INCONCLUSIVE, [])
    assert not report.is_harmless
    assert {one.code for one in report.notices} == {"I-FP16-ON-CPU", "I-SHORT-SEARCH"}
    assert [len(one.layers) for one in report.cumulative] == [0]
    report = measured(model, max_time_s=1e9)
    whole = len(runs.jobs)
    assert report.evidence is not None
    runs.jobs.clear()
    monkeypatch.setattr(experiment, "perf_counter", lambda: float("inf"))
    report = measured(model, max_time_s=1e9)
    assert len(runs.jobs) == 2 < whole  # a process of each timing
    assert (report.evidence, report.rounds, report.baseline_ms) == (None, 0, None)


def test_a_crashing_model_is_a_failure_and_another_precision_refused(tmp_path, planted) -> None:
    planted(lambda _job: 1.0)._fails = lambda job: kept_nodes(job) == 0
    report = measured(chain(tmp_path / "net.onnx"), rounds=3)
    assert report.whole.time is None
    assert "died of SIGSEGV" in report.whole.why
    assert report.cumulative[1].time is not None
    half = tmp_path / "half.onnx"
    convert(tmp_path / "net.onnx", half, Fp16Options())
    with pytest.raises(UsageError, match="holds fp16"):
        measured(half)
    with pytest.raises(UsageError, match="is an engine"):
        measured(tmp_path / "net.engine")


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"to": "fp4"}, UsageError, "one of fp16, int8"),
        ({"by": "node"}, UsageError, "one of layer, block"),
        ({"rounds": 2}, UsageError, "is not between 3"),
        ({"max_error": 0.0}, UsageError, "is not above 0"),
        ({"on": "ort-cpu:fp16"}, UsageError, "FP32 is what layers are converted from"),
        ({"on": "fake"}, UnsupportedError, "fp16 layers on fake"),
        ({"on": "fake", "to": "int8"}, UnsupportedError, "int8 layers on fake"),
    ],
)
def test_what_cannot_be_measured(tmp_path, more, error, message) -> None:
    with pytest.raises(error) as raised:
        measured(chain(tmp_path / "net.onnx"), **more)
    assert message in f"{raised.value} {raised.value.hint}"


def _flow(*names: str) -> OnnxFlow:
    tensors = ["x", *(f"t{at}" for at in range(len(names)))]
    nodes = tuple(
        FlowNode(
            name=name, own_name=name, operator="MatMul", inputs=(x,), outputs=(y,), varies=True
        )
        for name, x, y in zip(names, tensors, tensors[1:], strict=False)
    )
    types = {name: FlowTensor(dtype=DataType.FP32) for name in tensors}
    return OnnxFlow(nodes=nodes, inputs=("x",), outputs=(tensors[-1],), tensors=types)


def test_blocks_are_what_begins_alike_else_neighbors() -> None:
    names = [f"/stage{at // 2}/conv{at % 2}/Conv" for at in range(8)]
    found = layers_of(_flow(*names), "block", {})
    assert [one.name for one in found] == ["stage0", "stage1", "stage2", "stage3"]
    assert found[0].nodes == tuple(names[:2])
    found = layers_of(_flow(*(f"n{at}" for at in range(8))), "block", {})
    assert [one.name for one in found] == ["n0 … n1", "n2 … n3", "n4 … n5", "n6 … n7"]
    (found,) = layers_of(_flow("loop"), "layer", {"loop": ("inside",)})
    assert found.nodes == ("loop", "inside")
