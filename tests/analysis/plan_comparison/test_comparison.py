import numpy as np
import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plan_comparison.layer_changes import Cause, Relation
from enginescope.analysis.plan_comparison.plans_overview import PlanSummary, compared_plan
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import run_of_engine
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Samples, frozen
from enginescope.records.environment import Environment
from enginescope.records.plan.plan import IOTensor
from enginescope.records.run.job import Mode
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary
from enginescope.records.tensor import Tensor
from enginescope.render.plan_comparison.compare_phrases import requests_text
from tests.analysis.compared_plans import Network, network_a, network_b, report, run_a, run_b
from tests.analysis.layers.test_layer_table import several
from tests.render.runs import measured_run
from tests.trex.examples import goldens


def codes(*runs: Run) -> list[str]:
    return [one.code for one in compare(runs).notices]


def test_two_plans_and_more_are_set_side_by_side() -> None:
    found = compare([run_a(), run_b()])
    assert [one.label for one in found.overview.plans] == ["A", "B"]
    assert found.pairs is found.layers
    assert found.overview.difference_ms(1) == found.layers.difference_ms == -1.6875
    assert found.overview.speedup(1) == pytest.approx(5.875 / 4.1875)
    by_type = {one.key: (one.layers, one.time_ms) for one in found.overview.by_type}
    assert by_type["ConvActPool"] == ((0, 1), (0.0, 0.875))
    assert by_type["Pooling"] == ((1, 0), (0.25, 0.0))
    for shares in (found.overview.by_type, found.overview.by_precision):
        assert sum(one.difference_ms(1) or 0 for one in shares) == pytest.approx(-1.6875)
    assert found.notices == ()
    found = compare([run_a(), run_b(), run_a(timed=False)], names=["x", "y", "z"])
    assert found.layers is None
    assert [one.name for one in found.overview.plans] == ["x", "y", "z"]
    assert (found.overview.difference_ms(2), found.overview.speedup(2)) == (None, None)
    pooling = next(one for one in found.overview.by_type if one.key == "Pooling")
    assert (pooling.layers, pooling.time_ms) == ((1, 0, 1), (0.25, 0.0, None))
    assert pooling.difference_ms(2) is None
    with pytest.raises(UsageError, match="3 plans have no pairs"):
        found.columns()
    small, large = network_a(1).run("s"), network_a(4).run("l")
    found = compare([small, large])
    assert (found.overview.speedup(1), found.layers.difference_ms) == (pytest.approx(4), 0)


@pytest.mark.parametrize("count", [0, 1, 27])
def test_how_many_plans(count) -> None:
    with pytest.raises(UsageError, match="to compare"):
        compare([run_a()] * count)


def test_conditions_that_differ_are_told_first() -> None:
    assert codes(run_a(), run_b()) == []
    other = network_b(1).run("b", report=report("NVIDIA H200", "10.3.0"))
    told = {one.code: one for one in compare([run_a(), other]).notices}
    assert list(told) == ["W-OTHER-GPU", "W-OTHER-TENSORRT", "W-OTHER-BATCH"]
    assert "(A NVIDIA A100, B NVIDIA H200)" in told["W-OTHER-GPU"].message
    assert told["W-OTHER-BATCH"].evidence == {"A": 4, "B": 1}
    (note,) = compare([run_a(), network_b().run("b")]).notices
    assert (note.code, note.level) == ("I-CONDITIONS-UNKNOWN", "info")
    assert note.evidence == {"unknown": ["GPU of B", "TensorRT version of B"]}
    (note,) = compare([network_a().run("a"), network_b().run("b")]).notices
    assert note.message == "unknown: GPU of all plans; TensorRT version of all plans"
    runs = [network_a().run("x", report=report(gpu)) for gpu in ("T4", "L4", "T4")]
    message = "different GPU (A, C T4, B L4): part of the difference is the GPU's"
    assert compare(runs).notices[0].message == message


def test_missing_and_own_times_are_said() -> None:
    assert codes(run_a(), run_b(timed=False)) == ["W-NO-LAYER-TIMES"]
    once = run_b()
    assert once.profile is not None
    once = replace(once, profile=replace(once.profile, iterations=1))
    (told,) = compare([run_a(), once]).notices
    assert (told.code, told.evidence) == ("W-FEW-ITERATIONS", {"B": 1})
    raw = run_b()
    own = tuple(replace(one, time_ms=one.mean_ms, raw_ms=one.mean_ms) for one in raw.profile.layers)
    (told,) = compare([run_a(), replace(raw, profile=replace(raw.profile, layers=own))]).notices
    assert (told.code, told.evidence) == ("W-OTHER-PROFILE", {"A": False, "B": True})
    assert codes(run_a(), raw) == []


def test_an_estimate_of_the_profilers_cost_is_not_compared_with_times_that_contain_it() -> None:
    raw = replace(run_a(), profile=replace(run_a().profile, source="trtexec"))
    tool = replace(report(), summaries=(ReportedSummary(metric="gpu_compute", mean_ms=5.0),))
    estimated = replace(raw, tool=tool)
    assert RunView(estimated).run.profile.sum_ms == pytest.approx(5.0)
    for runs in ([estimated, raw], [raw, estimated], [estimated, raw, estimated]):
        found = compare(runs)
        assert [plan.sum_ms for plan in found.overview.plans] == [5.875] * len(runs)
        assert "W-OTHER-PROFILE" not in codes(*runs)
        assert all(pair.difference_ms == 0 for pair in found.against_first()[0].layers)
    both = compare([estimated, estimated])
    assert [plan.sum_ms for plan in both.overview.plans] == [pytest.approx(5.0)] * 2


def another_network() -> Run:
    other = Network()
    for at, side in enumerate((3, 5, 9, 11)):
        other.add(f"block{at}/y", "SoftMax", 100 + at, 1.0, side=side)
    return other.run("other", report=report())


def test_other_networks() -> None:
    found = compare([run_a(), another_network()])
    (told,) = found.notices
    assert (told.code, told.evidence) == ("W-OTHER-NETWORK", {"paired": 0, "of": 4})
    assert {one.relation for one in found.layers.layers} == {Relation.ONLY_A, Relation.ONLY_B}
    causes = {one.cause for one in found.layers.explanations}
    assert causes == {Cause.ONLY_A, Cause.ONLY_B, Cause.REFORMAT_LOST}


def test_requests_issued_otherwise_weaken_their_times_only_where_there_are_some() -> None:
    def issued(run: Run, *, graph: bool) -> Run:
        workload = replace(run.job.workload, mode=Mode(cuda_graph=graph))
        return replace(run, job=replace(run.job, workload=workload))

    assert codes(issued(run_a(), graph=True), issued(run_b(), graph=False)) == []
    tool = report(summaries=(ReportedSummary(metric="gpu_compute", mean_ms=1.0),))
    timed = [
        issued(one.run("x", report=tool), graph=graph)
        for one, graph in ((network_a(), True), (network_b(), False))
    ]
    (told,) = compare(timed).notices
    assert told.code == "W-OTHER-MODE"
    assert "CUDA graph: A yes, B no" in told.message
    assert requests_text(compare(timed).overview.plans) == (
        "GPU compute time: A mean 1.000 ms (printed); B mean 1.000 ms (printed); "
        "CUDA graph: A yes, B no"
    )
    assert requests_text(compare([run_a(), run_b()]).overview.plans) is None


def test_notices_of_a_plan_say_of_which_and_are_shown_once() -> None:
    (told,) = compare(
        [run_a(), replace(run_b(), notices=(compare([run_a(), run_b(timed=False)]).notices[0],))]
    ).notices
    assert told.message.startswith("B: ")
    assert told.evidence["plan"] == "B"
    notice = Notice(code="I-JSON-REPAIRED", message="repaired", level="info")
    (told,) = compare([replace(run, notices=(notice,)) for run in (run_a(), run_b())]).notices
    assert (told.message, told.evidence["plan"]) == ("A, B: repaired", "A, B")


def test_columns_are_of_one_length_and_hold_every_pair() -> None:
    found = compare([run_a(), run_b()])
    columns = found.columns()
    assert {len(values) for values in columns.values()} == {len(found.pairs.layers)}
    assert sum(one or 0 for one in columns["difference_ms"]) == pytest.approx(-1.6875)
    at = columns["a_name"].index("conv2/x + pool/x")
    assert columns["relation"][at] == "merged"
    assert (columns["b_name"][at], columns["a_layers"][at]) == ("conv2/x + pool/x", "2;3")
    lost = columns["cause"].index("reformat_lost")
    assert (columns["b_name"][lost], columns["b_ms"][lost], columns["speedup"][lost]) == (None,) * 3
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.difference_ms.sum() == pytest.approx(-1.6875)
    plans = found.plans_to_pandas()
    assert (plans.sum_ms.tolist(), plans.label.tolist()) == ([5.875, 4.1875], ["A", "B"])


def shared_run(shared, name: str) -> Run:
    path = shared / "trex-examples" / f"{name}.engine.graph.json"
    return replace(run_of_engine(read_plan_files(PlanFiles(plan=path)).facts), samples=())


@pytest.mark.parametrize(
    ("label", "a", "b"),
    [
        ("mobilenet", "mobilenet.qat.onnx", "mobilenet_v2_residuals.qat.onnx"),
        ("A100/fp32", "resnet18-a100-fp32", "resnet18-a100-fp16"),
    ],
)
def test_trex_finds_the_same_differences(shared, label, a, b) -> None:
    """trex counts a layer without counterpart as a mismatch of both; we do not."""
    golden = next(one for one in goldens(shared)["comparisons"] if label in one["label"])
    exact = golden["exact=True"]
    alone = exact["only_1"] + exact["only_2"]
    raw = [replace(shared_run(shared, one), samples=(), tool=None) for one in (a, b)]
    found = compare(raw)  # trex compares what the profiler reported
    layers = found.pairs
    paired = [one for one in layers.layers if one.a and one.b]
    assert len(paired) == exact["matched"] >= golden["exact=False"]["matched"]
    active = [[layer.index for layer in run.plan.active_layers] for run in raw]
    ours = {(one.a.layers, one.b.layers) for one in paired}
    theirs = [pair for pair in exact["pairs"] if None not in pair]
    assert ours >= {((active[0][i],), (active[1][j],)) for i, j in theirs}
    for relation, key in ((Relation.ONLY_A, "only_1"), (Relation.ONLY_B, "only_2")):
        left = sum(one.relation is relation for one in layers.layers)
        assert left <= min(exact[key], golden["exact=False"][key])
    precision, tactic = (
        sum(one.change(what) is not None for one in paired) for what in ("precision", "tactic")
    )
    assert precision == exact["precision_mismatch_rows"] - alone
    assert tactic == exact["tactic_mismatch_rows"] - alone
    assert [layers.a_ms, layers.b_ms] == pytest.approx(exact["aligned_total_ms"])
    speedups = [one.speedup for one in paired if one.speedup]
    stats = exact["speedup_stats"]
    assert len(speedups) == stats["n"]
    assert sum(speedups) / len(speedups) == pytest.approx(stats["mean"])
    assert sum(one > 1.03 for one in speedups) == stats["faster_gt_1_03"]
    for side, key in ((0, "type_latency_1"), (1, "type_latency_2")):
        ours = {one.key: one.time_ms[side] for one in found.overview.by_type if one.layers[side]}
        assert ours == pytest.approx(golden[key])


def summary(run: Run, **more) -> PlanSummary:
    return compared_plan(run, label="A", **more).summary


def test_a_plan_in_a_line_with_and_without_a_profile() -> None:
    found = summary(run_b())
    facts = (found.name, found.gpu, found.tensorrt, found.batch)
    assert facts == ("net b", "NVIDIA A100", "8.6.1", 4)
    assert (found.totals.active_layers, found.sum_ms, found.iterations) == (7, 4.1875, 100)
    assert found.sum_per_item_ms == 4.1875 / 4
    by_type = {one.key: (one.layers, one.time_ms) for one in found.by_type}
    assert by_type == {"Convolution": (5, 3.0625), "ConvActPool": (1, 0.875), "Reformat": (1, 0.25)}
    by_precision = {one.key: (one.layers, one.time_ms) for one in found.by_precision}
    assert by_precision == {"FP16": (2, 1.0), "FP32": (5, 3.1875)}
    assert sum(one.time_ms or 0 for one in found.by_type) == found.sum_ms
    found = summary(run_a(timed=False))
    assert (found.sum_ms, found.sum_per_item_ms) == (None, None)
    by_type = {one.key: (one.layers, one.time_ms) for one in found.by_type}
    assert by_type == {"Convolution": (6, None), "Pooling": (1, None), "Reformat": (1, None)}
    found = summary(run_a(extra_ms=0.5))
    assert {one.key: one.time_ms for one in found.by_type}[None] == 0.5
    assert sum(one.time_ms or 0 for one in found.by_type) == pytest.approx(found.sum_ms)
    with pytest.raises(UsageError, match="no plan to compare"):
        summary(measured_run())


def test_samples_go_before_what_was_printed() -> None:
    printed = ReportedSummary(metric="gpu_compute", mean_ms=2.5, median_ms=2.25)
    tool = report(summaries=(printed,), throughput_per_s=100.0)
    found = summary(network_a().run("a", report=tool))
    (figure,) = found.latencies
    assert (figure.source, figure.mean_ms, figure.median_ms) == ("printed", 2.5, 2.25)
    assert (figure.median_interval, figure.n) == (None, None)
    assert (found.latency("gpu_compute"), found.latency("latency")) == (figure, None)
    assert found.items_per_s == 400.0
    values = frozen(1 + 0.01 * np.random.default_rng(1).random(500))
    printed = ReportedSummary(metric="gpu_compute", mean_ms=2.5)
    run = network_a().run("a", report=report(summaries=(printed,)))
    run = replace(run, samples=(Samples(metric="gpu_compute", values_ms=values),))
    (figure,) = summary(run).latencies
    assert (figure.source, figure.n) == ("samples", 500)
    assert figure.median_ms == pytest.approx(np.median(values), rel=1e-3)
    assert figure.median_interval.low <= figure.median_ms <= figure.median_interval.high


def test_throughput_needs_the_batch_that_was_fed() -> None:
    run = replace(network_a().run("a", report=report(throughput_per_s=9.0)), inputs=())
    assert run.plan is not None
    run = replace(
        run,
        plan=replace(run.plan, io=(IOTensor(tensor=Tensor(name="image", shape=()), mode="input"),)),
        job=replace(run.job, workload=replace(run.job.workload, batch=None)),
    )
    found = summary(run)
    assert (found.batch, found.items_per_s, found.sum_per_item_ms) == (None, None, None)
    run = run_a()
    assert run.plan is not None
    dynamic = IOTensor(tensor=Tensor(name="image", shape=(None, 3, 16, 16)), mode="input")
    fed = Tensor(name="image", shape=(16, 3, 16, 16))
    run = replace(run, plan=replace(run.plan, io=(dynamic,)), inputs=(fed,))
    assert summary(run).batch == 16
    run = replace(network_a().run("x", timed=False), plan=several())
    layers = {index: summary(run, plan_profile=index).totals.layers for index in (0, 1)}
    assert all(0 < count < len(several().layers) for count in layers.values())
    with pytest.raises(UsageError, match="profile 7"):
        summary(run, plan_profile=7)


def test_the_version_of_a_measured_run_is_that_of_its_environment() -> None:
    run = measured_run(
        plan=network_a().plan("x"), environment=Environment(versions={"tensorrt": "10.3.0"})
    )
    found = summary(run)
    assert (found.tensorrt, found.gpu) == ("10.3.0", None)
    assert found.latency("latency") is not None
