"""Layer times of another build: ignored everywhere, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import enginescope as es
from enginescope.analysis.layers.layer_sum import own_times
from enginescope.analysis.runs.run_view import RunView
from enginescope.cli.main import main
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.importing.plan_files import PlanFiles, read_plan_files
from enginescope.records.plan.plan import EXECUTED, Layer, LayerTiming, Plan, Profile
from enginescope.records.run.run import Run
from enginescope.render.plans.plan_headline import PageSubject, first_numbers
from enginescope.render.sections.first_screen import worst_findings

FP32 = "trex-examples/resnet18-a100-fp32.engine"
FP16 = "trex-examples/resnet18-a100-fp16.engine"


def run_of(names: dict[str, int | None], *times: tuple[str, float]) -> Run:
    layers = tuple(
        Layer(index=at, name=name, type="Convolution", profile_index=index)
        for at, (name, index) in enumerate(names.items())
    )
    timings = tuple(
        LayerTiming(index=at, name=name, mean_ms=ms) for at, (name, ms) in enumerate(times)
    )
    profile = Profile(source="trtexec", layers=timings)
    return run_of_engine(
        EngineFacts(name="net", plan=Plan(name="net", layers=layers), profile=profile)
    )


def mixed(shared: Path) -> Run:
    """The FP32 plan of a network with the layer times of its FP16 build."""
    files = PlanFiles(plan=shared / f"{FP32}.graph.json", profile=shared / f"{FP16}.profile.json")
    read = read_plan_files(files)
    return run_of_engine(EngineFacts(name="net", plan=read.plan, profile=read.profile))


def test_times_of_another_build_are_ignored() -> None:
    run = own_times(run_of({"a": None, "b": None}, ("a", 1.0), ("x", 2.0)))
    assert run.profile is None
    (notice,) = run.notices
    assert notice.code == "W-OTHER-BUILD"
    assert "1 time has no layer in the plan ('x'), 1 layer has no time ('b')" in notice.message


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
    run = run_of(names, *times)
    kept = own_times(run).profile
    assert [(one.name, one.time_ms) for one in kept.layers] == times


def test_a_graph_that_was_executed_is_of_one_build_with_its_times() -> None:
    run = run_of({"a": None, "node_of_b": None}, ("a", 1.0), ("Relu_2", 2.0))
    assert own_times(run).profile is None
    executed = replace(run, plan=replace(run.plan, source_schema=EXECUTED))
    assert [one.time_ms for one in own_times(executed).profile.layers] == [1.0, 2.0]


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
    assert run.profile is not None
    kept = own_times(run).profile
    assert [one.time_ms for one in kept.layers] == [one.mean_ms for one in run.profile.layers]
    assert not {"W-LAYERS-UNTIMED", "W-TIMES-UNMATCHED"} & {n.code for n in RunView(run).notices}


def test_the_page_is_not_built_from_another_build(shared: Path) -> None:
    """23 of 24 layers have a time of the FP16 build: 1.02 ms stood as the sum of the FP32 plan."""
    subject = PageSubject(RunView(mixed(shared)))
    head = first_numbers(subject)
    assert head.main is not None
    assert head.main.value == "not known"
    assert head.main.note == "the layer times given are of another build"
    assert subject.view.layer_sum is None
    assert {notice.code for notice in subject.view.notices} >= {"W-OTHER-BUILD"}
    worst = worst_findings(subject)[0]
    assert (worst.group.code, worst.saving) == ("TIME203", None)


def test_the_page_has_the_terminals_notices_on_incomplete_times() -> None:
    view = RunView(run_of({"a": None, "b": None}, ("a", 1.0)))
    assert "W-LAYERS-UNTIMED" in {notice.code for notice in view.notices}


def test_every_verb_says_so(shared: Path) -> None:
    plan, profile = shared / f"{FP32}.graph.json", shared / f"{FP16}.profile.json"
    with pytest.warns(UserWarning, match="W-OTHER-BUILD"):
        opened = es.open_plan(plan, profile=profile)
    assert opened.profile is None
    report = es.lint(plan, profile=profile)
    assert (report.sum_ms, report.findings[0].code) == (None, "TIME203")
    compared = es.compare_plans(RunView(mixed(shared)), shared / f"{FP16}.graph.json")
    assert [each.sum_ms is None for each in compared.overview.plans] == [True, False]
    assert "W-OTHER-BUILD" in {notice.code for notice in compared.notices}


def test_explores_page_has_the_terminals_warning_and_no_time_at_stake(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    plan, profile = f"{shared / FP32}.graph.json", f"{shared / FP16}.profile.json"
    assert main(["explore", plan, "--profile", profile, "--html", str(page)]) == 0
    assert "W-OTHER-BUILD" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "W-OTHER-BUILD" in text
    worst = text.partition('class="worst"')[2].partition("</ol>")[0]
    assert "Most severe" in worst
    assert "TIME203" in worst
