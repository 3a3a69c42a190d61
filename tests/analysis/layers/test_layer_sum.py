from pathlib import Path

import numpy as np
import pytest

import enginescope as es
from enginescope.analysis.layers.layer_sum import LayerSum, WholeRequest, layer_sum, own_times
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.judge.samples import Array, Samples
from enginescope.records.plan.build import ToolReport
from enginescope.records.plan.plan import EXECUTED, Layer, LayerTiming, Plan, Profile, batch_sums
from enginescope.records.run.run import Run
from enginescope.records.samples import ReportedSummary
from enginescope.render.plans.findings import first_changes
from enginescope.render.plans.plan_headline import PageSubject, first_numbers
from tests.formats import plans


def test_without_times_or_a_whole_there_is_no_ratio() -> None:
    assert layer_sum(None, None) is None
    assert layer_sum(plans.profile(("a", None)), None) is None
    found = layer_sum(plans.profile(("a", 2.0), whole_ms=2.5), None)
    assert found == LayerSum(sum_ms=2.0, pass_whole_ms=2.5)
    assert (found.ratio, found.difference_ms) == (None, None)
    found = LayerSum(sum_ms=4.6, whole_ms=4.0, whole_metric="latency")
    assert (found.ratio, found.difference_ms) == (pytest.approx(1.15), pytest.approx(0.6))
    assert LayerSum(sum_ms=1.0, whole_ms=0.0, whole_metric="latency").ratio is None


def profile_of(times: Array, resolution_ms: tuple[float, float] = (0.0, 0.0)) -> Profile:
    layers = tuple(
        LayerTiming(index=at, name=f"l{at}", mean_ms=ms.mean(), median_ms=float(np.median(ms)))
        for at, ms in enumerate(times.T)
    )
    facts = {"iterations": len(times), "batch_sums_ms": batch_sums(times)}
    return Profile(source="onnxruntime", layers=layers, resolution_ms=resolution_ms, **facts)


def test_interrupted_iterations_do_not_move_the_sum_but_clock_steps_widen_it() -> None:
    rng = np.random.default_rng(0)
    times = 0.02 + 0.001 * rng.standard_normal((200, 10))
    times[rng.random(times.shape) < 0.03] += 10.0  # a tenth of a second's slice, now and then
    found = layer_sum(profile_of(times), WholeRequest("latency", 5.0, 0.19))
    assert (found.statistic, found.sum_ms) == ("median", pytest.approx(0.2, rel=0.01))
    assert (found.whole_ms, found.iterations) == (0.19, 200)
    times = np.floor(np.full((120, 5), 3.7)) * 0.001
    found = layer_sum(profile_of(times, (0.0, 0.001)), None)
    assert found.sum_ms == pytest.approx(0.015)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.015, 0.020))
    few = layer_sum(profile_of(np.full((59, 3), 1.0)), None)
    assert (few.sum_ms, few.interval) == (3.0, None)
    timing = LayerTiming(index=0, name="a", mean_ms=2.0, median_ms=1.0)
    imported = Profile(source="trtexec", layers=(timing,))
    found = layer_sum(imported, WholeRequest("gpu_compute", 4.0, 3.0))
    assert (found.sum_ms, found.statistic, found.whole_ms) == (2.0, "mean", 4.0)
    assert found.interval is None


def test_the_interval_of_the_sum_covers() -> None:
    rng = np.random.default_rng(1)
    hits = []
    for _ in range(300):
        iteration = 1 + 0.02 * rng.standard_normal((120, 1))  # what all layers of one share
        times = 0.02 * iteration * rng.lognormal(0.0, 0.1, (120, 8))
        interval = layer_sum(profile_of(times), None).interval
        hits.append(interval.low <= 8 * 0.02 <= interval.high)
    assert np.mean(hits) >= 0.93


# Layer times of another build: ignored everywhere, with the reason.

FP32 = "trex-examples/resnet18-a100-fp32.engine"
FP16 = "trex-examples/resnet18-a100-fp16.engine"


def timed_run(names: dict[str, int | None], *times: tuple[str, float]) -> Run:
    layers = tuple(
        Layer(index=at, name=name, type="Convolution", profile_index=index)
        for at, (name, index) in enumerate(names.items())
    )
    plan = Plan(name="net", layers=layers)
    return run_of_engine(EngineFacts(name="net", plan=plan, profile=plans.profile(*times)))


def mixed(shared: Path) -> Run:
    """The FP32 plan of a network with the layer times of its FP16 build."""
    files = PlanFiles(plan=shared / f"{FP32}.graph.json", profile=shared / f"{FP16}.profile.json")
    read = read_plan_files(files)
    return run_of_engine(EngineFacts(name="net", plan=read.plan, profile=read.profile))


def test_times_of_another_build_are_ignored_and_printed_ones_compared() -> None:
    run = own_times(timed_run({"a": None, "b": None}, ("a", 1.0), ("x", 2.0)))
    assert run.profile is None
    (notice,) = run.notices
    assert notice.code == "W-OTHER-BUILD"
    assert "1 time has no layer in the plan ('x'), 1 layer has no time ('b')" in notice.message
    run = timed_run({"a": None, "node_of_b": None}, ("a", 1.0), ("Relu_2", 2.0))
    assert own_times(run).profile is None
    executed = replace(run, plan=replace(run.plan, source_schema=EXECUTED))
    assert [one.time_ms for one in own_times(executed).profile.layers] == [1.0, 2.0]
    profile = plans.profile(("a", 6.0))
    printed = (ReportedSummary(metric="gpu_compute", mean_ms=4.0),)
    found = RunView(replace(latency_run(printed=printed), profile=profile)).layer_sum
    assert (found.whole_metric, found.ratio) == ("gpu_compute", 1.0)
    assert (found.raw_ms, found.profiler_ms) == (6.0, 0.00234)  # the profiler's own figures


@pytest.mark.parametrize(
    ("names", "times"),
    [
        ({"a": None, "b": None}, [("a", 1.0), ("b", 2.0)]),
        ({"a": None, "b": None}, [("a", 1.0)]),
        ({"a": None}, [("a", 1.0), ("x", 2.0)]),
        ({"a": None, "b": None}, [("a", 1.0), ("x", 0.0)]),
        ({"a": 0, "a [profile 1]": 1}, [("a", 1.0), ("x", 2.0)]),
    ],
)
def test_incomplete_times_are_kept(names: dict[str, int | None], times: list) -> None:
    run = timed_run(names, *times)
    assert [(one.name, one.time_ms) for one in own_times(run).profile.layers] == times
    if len(names) > len(times):
        assert "W-LAYERS-UNTIMED" in {notice.code for notice in RunView(run).notices}


@pytest.mark.parametrize(
    "name",
    [
        FP32,
        FP16,
        "trt10-rtx3060/resnet18_fp16",
        "trt86-h200/depth_anything_small",
        "trt86-h100-trtexec/real",
    ],
)
def test_real_plans_keep_their_own_times(shared: Path, name: str) -> None:
    read = read_plan_files(PlanFiles(plan=shared / f"{name}.graph.json"))
    run = run_of_engine(EngineFacts(name="net", plan=read.plan, profile=read.profile))
    kept = own_times(run).profile
    assert [one.time_ms for one in kept.layers] == [one.mean_ms for one in run.profile.layers]
    assert not {"W-LAYERS-UNTIMED", "W-TIMES-UNMATCHED"} & {n.code for n in RunView(run).notices}


def test_the_page_is_not_built_from_another_build(shared: Path) -> None:
    """23 of 24 layers have a time of the FP16 build: 1.02 ms stood as the sum of the FP32 plan."""
    subject = PageSubject(RunView(mixed(shared)))
    head = first_numbers(subject)
    assert head.main.value == "not known"
    assert head.main.note == "the layer times given are of another build"
    assert subject.view.layer_sum is None
    assert {notice.code for notice in subject.view.notices} >= {"W-OTHER-BUILD"}
    (first,) = first_changes(subject.findings)
    assert first.endswith(": saving unknown: no layer times (TIME203)")


def test_every_verb_and_its_page_warn_of_another_build(shared, tmp_path, capsys) -> None:
    plan, profile = shared / f"{FP32}.graph.json", shared / f"{FP16}.profile.json"
    with pytest.warns(UserWarning, match="W-OTHER-BUILD"):
        opened = es.open_plan(plan, profile=profile)
    assert opened.profile is None
    report = es.lint(plan, profile=profile)
    assert (report.sum_ms, report.findings[0].code) == (None, "TIME203")
    compared = es.compare_plans(RunView(mixed(shared)), shared / f"{FP16}.graph.json")
    assert [each.sum_ms is None for each in compared.overview.plans] == [True, False]
    assert "W-OTHER-BUILD" in {notice.code for notice in compared.notices}
    page = tmp_path / "page.html"
    assert main(["explore", str(plan), "--profile", str(profile), "--html", str(page)]) == 0
    assert "W-OTHER-BUILD" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "W-OTHER-BUILD" in text
    assert "saving unknown: no layer times (TIME203)" in text
    assert ": at most " not in text.partition('class="worst"')[2].partition("</ul>")[0]


def latency_run(*metrics: str, printed: tuple[ReportedSummary, ...] = ()) -> Run:
    report = ToolReport(tool="trtexec", summaries=printed) if printed else None
    run = run_of_engine(EngineFacts(name="n", plan=Plan(name="n", layers=()), report=report))
    series = tuple(
        Samples(metric=one, values_ms=np.full(20, 1.0 + at)) for at, one in enumerate(metrics)
    )
    return replace(run, samples=series)


def test_of_the_samples_gpu_compute_first_else_as_it_was_printed() -> None:
    printed = (
        ReportedSummary(metric="trtexec_latency", mean_ms=5.0),
        ReportedSummary(metric="gpu_compute", mean_ms=4.0, median_ms=3.9),
    )
    for run, expected in (
        (latency_run("latency", "gpu_compute"), ("gpu_compute", 2.0, 2.0)),
        (latency_run("latency"), ("latency", 1.0, 1.0)),
        (latency_run(printed=printed), ("gpu_compute", 4.0, 3.9)),
        (latency_run("latency", printed=printed), ("latency", 1.0, 1.0)),
    ):
        assert RunView(run).whole_request[:3] == expected
    assert RunView(latency_run(printed=printed[:1])).whole_request is None
    assert RunView(latency_run()).whole_request is None
