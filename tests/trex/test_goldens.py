"""Figures that trex has of its examples, or docs/contributing/goldens-differences.md has it."""

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginescope.analysis.graph.plan_graph import plan_graph
from enginescope.analysis.layers.layer_sum import LayerSum
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.formats.trex.trex_metadata import parse_trex_metadata
from enginescope.formats.trtexec.exported_times import parse_times
from tests.trex import examples
from tests.trex.examples import EXAMPLES, MOBILENET, Example, example, goldens

PERCENT = {"rel": 1e-5, "abs": 1e-4}


@pytest.fixture(params=EXAMPLES)
def one(request, shared: Path) -> Example:
    return example(shared, request.param)


def column(one: Example, name: str) -> list[Any]:
    return one.view.columns()[name]


def sums(one: Example, by: str, what: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in zip(column(one, by), column(one, what), strict=True):
        found[key] = found.get(key, 0.0) + value
    return found


def test_layers_and_bindings(one) -> None:
    golden, plan = one.golden, one.read.plan
    assert len(plan.layers) == one.view.totals.layers == golden["raw_layers_in_json"]
    assert sum(it.type == "NoOp" for it in plan.layers) == golden["noop_layers_folded"]
    assert len(one.view.constants) == golden["constants"]
    assert len(one.view.layers) == golden["n_layers_df"] == golden["n_layers_plan.layers"]
    assert one.view.totals.active_layers == golden["n_layers_df"]
    assert one.explored.notices == ()
    assert [it.tensor.name for it in plan.io] == golden["bindings"]
    for ours, theirs, title in (
        (plan.inputs, "get_bindings_inputs", "Inputs"),
        (plan.outputs, "get_bindings_outputs", "Outputs"),
    ):
        (tensor,) = [it.tensor for it in ours]
        text = f"{tensor.name}: {list(tensor.shape)}x{tensor.dtype.value} {tensor.layout.name}"
        assert [text] == golden[theirs]
        assert text == golden["summary_dict"][title]


def test_bytes(one) -> None:
    golden, totals = one.golden, one.view.totals
    missed = examples.WEIGHTS_BYTES.get(one.name, 0)
    assert totals.activation_bytes == golden["total_act_size_bytes"]
    assert totals.weights_bytes == golden["total_weights_size_bytes"] + missed
    assert totals.unknown_tensors == 0
    summary = golden["summary_dict"]
    assert f"{totals.activation_bytes / 2**20:.1f} MB" == summary["Activations"]
    assert f"{(totals.weights_bytes - missed) / 2**20:.1f} MB" == summary["Weights"]


def test_columns_of_each_layer(one) -> None:
    rows, found = one.golden["per_layer"], one.view.columns()
    for name in ("Name", "type", "subtype", "precision", "output_precision", "total_io_size_bytes"):
        assert found[name] == [row[name] for row in rows]
    assert [it or "TensorRT" for it in found["tactic"]] == [row["tactic"] for row in rows]
    assert found["latency.avg_time"] == [row["avg"] for row in rows]
    assert found["latency.pct_time"] == pytest.approx([row["pct"] for row in rows], rel=1e-3)
    for at, row in enumerate(rows):
        missed = examples.WEIGHTS_BYTES.get(one.name, 0) if row["type"] == "ConvActPool" else 0
        for name in ("weights_size", "total_footprint_bytes"):
            assert found[name][at] == row[name] + missed
    renamed = {"latency.time", "latency.median_time", "Inputs", "Outputs", "Weights", "Bias"}
    assert set(one.golden["df_columns"]) - renamed - {"ConvWeights", "ConvBias"} <= set(found)


def test_sums_of_times(one) -> None:
    golden = one.golden
    assert one.view.total_ms == pytest.approx(golden["total_runtime_ms(sum avg_time)"], abs=1e-12)
    assert f"{one.view.total_ms:.3f} ms" == golden["summary_dict"]["Average time"]
    assert str(len(one.view.layers)) == golden["summary_dict"]["Layers"]
    assert sum(column(one, "latency.pct_time")) == pytest.approx(100)
    assert golden["sum_pct_time"] == pytest.approx(100, abs=examples.ROUNDED_SHARES_PCT)


@pytest.mark.parametrize(
    ("key", "columns"),
    [
        ("count_by_type", "type"),
        ("count_by_subtype", "subtype"),
        ("count_by_precision", "precision"),
        ("count_by_output_precision", "output_precision"),
    ],
)
def test_counts(one, key, columns) -> None:
    assert Counter(column(one, columns)) == one.golden[key]


@pytest.mark.parametrize(
    ("key", "by", "what"),
    [
        ("latency_avg_by_type", "type", "latency.avg_time"),
        ("latency_pct_by_type", "type", "latency.pct_time"),
        ("latency_pct_by_precision", "precision", "latency.pct_time"),
    ],
)
def test_sums(one, key, by, what) -> None:
    assert sums(one, by, what) == pytest.approx(one.golden[key], **PERCENT)


def test_shares_on_the_terminal(one) -> None:
    """The same by `explore`, which leaves no-ops out where they take no time."""
    golden, totals = one.golden, one.view.totals
    assert {it.key: it.layers for it in one.explored.by_type} == golden["count_by_type"]
    assert totals.layers_by_type == golden["count_by_type"]
    assert totals.layers_by_precision == golden["count_by_precision"]
    found = {it.key: it.time_ms for it in one.explored.by_type}
    assert found == pytest.approx(golden["latency_avg_by_type"])
    found = {it.key: it.share_pct for it in one.explored.by_precision}
    assert found == pytest.approx(golden["latency_pct_by_precision"], **PERCENT)


def test_tactics(one) -> None:
    """trex writes "TensorRT" where the plan names none."""
    names = {it.tactic or "TensorRT": it for it in one.explored.tactics}
    assert {name: it.layers for name, it in names.items()} == one.golden["tactic_count"]
    found = {name: it.share_pct for name, it in names.items()}
    assert found == pytest.approx(one.golden["tactic_pct"], **PERCENT)


def test_the_slowest(one) -> None:
    timed = sorted(one.explored.layers, key=lambda it: -(it.row.time_ms or 0))
    found = [{"name": it.row.name, "type": it.row.type, "avg": it.row.time_ms} for it in timed[:3]]
    assert found == [{k: v for k, v in it.items() if k != "pct"} for it in one.golden["top3"]]
    shares = [it.row.share_pct for it in timed[:3]]
    assert shares == pytest.approx([it["pct"] for it in one.golden["top3"]], rel=1e-4)


def test_convolutions(one) -> None:
    """trex leaves biases and residual inputs out of its bytes.

    It also takes kernels at the size of the input's type, and does not divide n and k by the
    groups.
    """
    golden, view = one.golden["convs"], one.view
    missed = examples.CONVOLUTIONS.get(one.name, (0, 0))
    kinds = [it.type for it in view.layers]
    assert kinds.count("Convolution") == golden["n"]
    assert kinds.count("ConvActPool") == missed[0]
    assert sum(work.macs or 0 for work in view.works) == golden["sum_macs"] + missed[1]
    found = view.columns("Convolution")
    assert sum(found["attr.macs"]) == golden["sum_macs"]
    for layer, row in zip(view.by_type("Convolution"), golden["per_layer"], strict=True):
        work, time_ms = view.work_of(layer), view.time_of(layer).time_ms
        product = work.product
        assert (layer.name, product.groups) == (row["Name"], row["groups"])
        grouped = (product.m, product.n * product.groups, product.k * product.groups)
        assert (work.macs, *grouped) == (row["macs"], row["M"], row["N"], row["K"])
        left_out = sum(it.nbytes for it in layer.weights if it.role == "Bias")
        left_out += sum(it.nbytes for it in layer.inputs[1:])
        assert layer.weights[0].dtype == layer.inputs[0].dtype
        trex_bytes = work.moved_bytes - left_out
        assert row["AI"] == pytest.approx(work.macs / trex_bytes, rel=1e-12)
        assert row["CE"] == pytest.approx(work.compute_efficiency(time_ms), rel=1e-12)
        assert row["ME"] == pytest.approx(trex_bytes / time_ms, rel=1e-12)
    efficiency, times = found["attr.compute_efficiency"], found["latency.avg_time"]
    assert statistics.fmean(efficiency) == pytest.approx(golden["mean_compute_eff"])
    assert statistics.median(times) == pytest.approx(golden["median_avg_time"])
    # biases and second inputs are bytes too: ours are lower, and more is moved in a millisecond
    assert statistics.fmean(found["attr.arithmetic_intensity"]) < golden["mean_AI"]
    assert max(found["attr.arithmetic_intensity"]) < golden["max_AI"]
    assert statistics.fmean(found["attr.memory_efficiency"]) > golden["mean_memory_eff"]


def test_reformats_by_origin(one) -> None:
    golden = one.golden["report_card"].get("reformat_by_origin")
    found = one.explored.reformats_by_origin
    if golden is None:
        assert found == ()
        return
    assert {it.key: it.layers for it in found} == golden["count"]
    assert {it.key: it.time_ms for it in found} == pytest.approx(golden["avg"])
    assert {it.key: it.share_pct for it in found} == pytest.approx(golden["pct"], **PERCENT)


def test_times_of_the_engine(one) -> None:
    golden = one.golden["report_card"]["plot_engine_timings"]
    path = one.folder / f"{one.name}.timing.json"
    samples = parse_times(path.read_bytes(), path.name)[0].samples
    values = next(it for it in samples if it.metric == "trtexec_latency").values_ms
    assert len(values) == golden["n"]
    assert (values.min(), values.max()) == (golden["min"], golden["max"])
    assert values.mean() == pytest.approx(golden["mean"])
    assert np.median(values) == pytest.approx(golden["median"])


def test_metadata(one) -> None:
    golden, report = one.golden, one.read.report
    performance = golden["performance_summary"]
    assert report.throughput_per_s == performance["Throughput"]
    assert report.host_walltime_s == performance["Total Host Walltime"]
    assert report.total_gpu_compute_s == performance["Total GPU Compute Time"]
    latency = next(it for it in report.summaries if it.metric == "trtexec_latency")
    raw = performance["Latency"]
    assert [latency.min_ms, latency.max_ms, latency.mean_ms, latency.median_ms] == raw[:4]
    assert [value for _, value in latency.percentiles] == raw[4:]
    assert report.device.name == golden["device_properties"]["Selected Device"]
    assert report.device.sm_count == golden["device_properties"]["SMs"]
    assert set(report.device_facts) == set(golden["device_properties"])
    path = one.folder / f"{one.name}.build.metadata.json"
    build, _ = parse_trex_metadata(path.read_bytes(), path.name)
    settings = {**build.options["Model Options"], **build.options["Build Options"]}
    assert settings == golden["builder_cfg"]


def test_the_sum_is_more_than_the_engine_takes(one) -> None:
    """trex calls the sum the engine's time; MobileNet takes a quarter less."""
    mean = next(it.mean_ms for it in one.read.report.summaries if it.metric == "trtexec_latency")
    found = LayerSum(sum_ms=one.view.total_ms, whole_ms=mean)
    assert found.sum_ms > found.whole_ms


def test_graphs(one) -> None:
    golden = one.golden["graph"]
    plan = one.read.plan
    for choice, key in (("io", "default"), ("forks", "forking"), ("all", "regions")):
        graph = plan_graph(plan, tensors=choice)
        assert (len(graph.nodes), len(graph.edges)) == (golden[key]["nodes"], golden[key]["edges"])
    layers = [it for it in plan_graph(plan).nodes if it.kind == "layer"]
    assert len(layers) == golden["PlanGraph"]["layer_nodes"] == golden["OnnxGraph"]["nodes"]
    tensors = [it for it in plan_graph(plan, tensors="all").nodes if it.kind != "layer"]
    assert len(tensors) == golden["PlanGraph(include_regions)"]["memory_nodes"]
    assert len({it.name for it in tensors}) == golden["PlanGraph"]["regions"]
    reused = [it for it in tensors if it.generation]
    assert len(reused) == golden["PlanGraph"]["multi_gen_regions"] == 0
    assert [it.tensor.name for it in plan.inputs] == golden["OnnxGraph"]["inputs"]
    assert [it.tensor.name for it in plan.outputs] == golden["OnnxGraph"]["outputs"]


def test_one_layer_keeps_all_its_findings(shared) -> None:
    """trex's ConvLinter keeps one hazard a layer, the last: 37 rows of 41 findings."""
    one = example(shared, MOBILENET)
    golden = one.golden["lint"]
    parts = [f"ConvLinter.{it}" for it in ("tc_lint", "mixed_precision_lint", "alignment_lint")]
    names = [name for part in parts for name in golden[part]["names"]]
    assert len(names) == 41
    assert golden["ConvLinter.lint (merged by layer name)"]["count"] == len(set(names)) == 37
    codes = {code for part in parts for code in examples.LINTERS[part]}
    said = (it for cause in one.linted.findings for it in (cause, *cause.symptoms))
    found = [it.subject for it in said if it.code in codes]
    lost = {name for name in names if names.count(name) > 1}
    fewer = sorted(name for name in lost if found.count(name) < names.count(name))
    names = [name.split()[0] for name in fewer]
    assert names == ["classifier.1.weight", "features.0.0.weight"]  # D11


#: Of torchvision's AlexNet.
PARAMETERS = 61_100_840


@pytest.mark.parametrize(
    ("name", "element_bytes", "scalars"),
    [("alexnet_fp16.graph", 2, 12), ("alexnet_torch_tensorrt.engine_info", 4, 0)],
)
def test_every_parameter_is_a_weight(shared, name, element_bytes, scalars) -> None:
    """trex takes those of gemm layers for activations; their alphas and betas are the scalars."""
    read = read_plan_files(PlanFiles(plan=shared / "trt10-rtx3060" / f"{name}.json"))
    assert {one.level for one in read.notices} <= {"info"}  # how coarse times beside it are
    totals = PlanView(read.plan).totals
    assert (totals.weights_bytes + totals.bias_bytes) / element_bytes == PARAMETERS + scalars
    assert totals.unknown_tensors == 0


def test_every_golden_is_looked_at(shared) -> None:
    """Keys of the goldens that no test here or in tests/analysis names, and why."""
    tests = Path(__file__).parents[1]
    files = (tests / one for one in ("trex/test_goldens.py", "rules/test_recorded_plans.py"))
    text = "".join(path.read_text() for path in files)
    keys = set(goldens(shared)["plans"][MOBILENET])
    unseen = {key for key in keys if json.dumps(key) not in text} - set(examples.NOT_COMPARED)
    assert not unseen
    assert set(examples.NOT_COMPARED) <= keys
