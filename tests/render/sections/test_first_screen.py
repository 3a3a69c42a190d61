"""The first screen of layers: groups over rows, layers by what can be won, the unknown apart."""

from html import unescape

import pytest

from enginescope.analysis.roofline.roofline import gpu_limits
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.judge.notice import Notice
from enginescope.records.run.job import BackendSpec
from enginescope.render.base.facts import subject_line
from enginescope.render.base.phrases import format_us, layer_sum_note
from enginescope.render.page.markdown import report_markdown
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject, first_numbers
from enginescope.render.sections.first_screen import (
    first_screen,
    icicle_data,
    next_steps,
    where_text,
)
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.analysis.card_plans import TIMES, profile_of, small_plan
from tests.conftest import DATA
from tests.render.runs import failed_run, measured_run, profile
from tests.render.screen import summary_text

RECORDED = DATA / "trt86-h200" / "resnet18.graph.json"


def small(*, timed: bool = True, gpu: str | None = "H200") -> PageSubject:
    profile = profile_of(TIMES) if timed else None
    run = run_of_engine(EngineFacts(name="small", plan=small_plan(), profile=profile))
    return PageSubject(RunView(run), gpu=gpu_limits(gpu) if gpu else None)


@pytest.fixture(scope="module")
def recorded() -> PageSubject:
    return PageSubject(RunView(resolve_plan(str(RECORDED)).as_run()))


def test_groups_are_ranges_of_one_order_over_every_row(recorded) -> None:
    found = icicle_data(recorded)
    assert found["parents"][0] == -1
    assert (found["starts"][0], found["stops"][0]) == (0, len(found["rows"]))
    for group, parent in enumerate(found["parents"][1:], start=1):
        assert parent < group
        assert found["starts"][parent] <= found["starts"][group] <= found["stops"][group]
        assert found["stops"][group] <= found["stops"][parent]
    assert len(set(found["rows"])) == len(found["rows"])
    assert {at for at, row in enumerate(recorded.layers) if row.time_ms} <= set(found["rows"])
    # four repeats of four, of other shapes each
    at = found["names"].index("Identity_0 … Identity_15 × 16")
    assert found["stops"][at] - found["starts"][at] == 16
    subject = small()
    found = icicle_data(subject)
    assert "kinds" not in icicle_data(recorded)
    names = [subject.layers[row].name for row in found["rows"]]
    assert names == [layer.name for layer in small_plan().layers if layer.name in set(names)]


def test_layers_without_a_plan_are_one_row_and_runs_without_layers_have_no_picture() -> None:
    subject = PageSubject(RunView(measured_run()))
    found = icicle_data(subject)
    assert len(found["names"]) == 1
    drawn = [row for row in subject.view.layers if not row.is_container]
    assert [subject.layers[at].name for at in found["rows"]] == [row.name for row in drawn]
    assert len(found["kind"]) == len(found["rows"])  # without floors, the colors of their kinds
    assert {name for name, _ in found["kinds"]} >= {"convolution"}
    subject = PageSubject(RunView(failed_run()))
    assert icicle_data(subject) is None
    assert first_screen(subject) is None


def test_layers_come_by_the_time_above_their_floor_with_their_share(recorded) -> None:
    look = first_screen(recorded)
    worst = recorded.plan.roofline.worst(8)
    names = [recorded.plan.all_layers[one.position].name for one in worst]
    assert [one.layer.name for one in look.rows] == names
    assert look.title.endswith("above their floor")
    for one, roof in zip(look.rows, worst, strict=True):
        assert recorded.layers[one.row] is one.layer
        assert one.above == format_us(roof.excess_ms)
        assert one.floor_pct is not None
        assert one.floor_pct <= one.time_pct + 0.01
    assert (look.rows[0].share, look.rows[0].short) == (
        "8.9 %",
        "layer4.1: conv2/Conv + Add + relu_1/Relu",
    )
    assert all(row.raw_share.endswith(" %") for row in look.rows)
    times = {0.0625: "62.5 µs", 1.25: "1.25 ms", 0.0: "0 ms", None: "not known"}
    assert [format_us(ms) for ms in times] == list(times.values())


def test_layers_whose_floor_is_unknown_or_partial_are_not_ranked() -> None:
    """A layer that may compute more than is known has a floor too low to be a distance."""
    subject = small()
    look = first_screen(subject)
    unranked = subject.plan.roofline.unranked
    listed = {one.layer.name for one in look.rows}
    assert not listed & {subject.plan.all_layers[one.position].name for one in unranked}
    assert any("no known floor" in note for note in look.notes) == bool(unranked)
    found = subject.plan.roofline
    partial = replace(found, layers=tuple(replace(one, is_partial=True) for one in found.layers))
    assert partial.worst() == ()
    assert len(partial.unranked) == sum(bool(one.time_ms) for one in partial.layers)
    assert sum(found.bounds.values()) <= len(found.layers)
    assert found.least_ms == pytest.approx(sum(one.attainable_ms or 0.0 for one in found.layers))


def test_without_limits_or_times_nothing_is_ranked() -> None:
    look = first_screen(small(gpu=None))
    assert look.title == "Where to look: the slowest layers"
    assert [one.layer.name for one in look.rows][:2] == ["conv", "depthwise"]
    assert {one.floor_pct for one in look.rows} == {None}
    assert any("Not known: floors (name the GPU: --gpu NAME)" in note for note in look.notes)
    subject = small(timed=False)
    look = first_screen(subject)
    assert look.title == "No layer times"
    assert look.rows == ()
    figures = first_numbers(subject)
    assert figures.main.value == "not known"
    assert [one.label for one in figures.beside] == ["weights", "least time", "known fixes"]


def test_where_the_time_goes_is_told_by_parts_and_the_slowest_layer(recorded) -> None:
    groups = icicle_data(recorded)
    inside = {
        name: sum(recorded.layers[at].time_ms or 0.0 for at in groups["rows"][start:stop])
        for name, parent, start, stop in zip(
            *(groups[key] for key in ("names", "parents", "starts", "stops")), strict=True
        )
        if parent == 0
    }
    slowest = max(recorded.layers, key=lambda layer: layer.time_ms or 0.0)
    text = where_text(recorded, groups)
    parts, _, last = text.partition(" of the layers' time; slowest layer: ")
    sum_ms = recorded.view.layer_sum.sum_ms
    share = f" {100 * max(inside.values()) / sum_ms:.2g} %"
    assert parts.split(", ")[0] == max(inside, key=inside.__getitem__) + share
    assert len(parts.split(", ")) == 3
    assert last.endswith(f" {100 * slowest.time_ms / sum_ms:.2g} %")
    untimed = small(timed=False)
    assert where_text(untimed, icicle_data(untimed)) is None


def test_the_four_numbers_and_the_means_of_a_profile(recorded) -> None:
    figures = first_numbers(recorded)
    assert figures.main is not None
    assert [one.label for one in figures.beside] == [
        "throughput",
        "time above the floor",
        "known fixes save",
    ]
    assert {one.leads_to for one in figures.beside} == {None, "roofline", "findings"}
    notes = [one.note or "" for one in figures.beside]
    assert "floor: least time the H200 allows" in notes[1]
    assert "that overlap: their savings do not add up" in notes[2]
    share = 100 * recorded.plan.roofline.saving_ms() / recorded.plan.engine_ms
    assert float(figures.beside[1].value.split()[0]) == pytest.approx(share, rel=0.05)
    assert first_numbers(recorded).main.note == (
        "means of 9,572 iterations; no interval: the profile holds means alone\n"
        "fitted to the GPU compute time, 0.1814 ms"
    )


def test_findings_on_different_layers_do_not_overlap() -> None:
    subject = PageSubject(RunView(resolve_plan(str(RECORDED)).as_run()))
    report = subject.findings
    apart = [
        replace(one, saving=replace(one.saving, alone_ms=one.saving.known_ms))
        for one in report.findings
    ]
    subject.findings = replace(report, findings=tuple(apart))
    assert "overlap" not in (first_numbers(subject).beside[2].note or "")


def test_a_run_without_a_plan_keeps_its_own_figures_and_has_no_column_of_unknowns() -> None:
    labels = [one.label for one in first_numbers(PageSubject(RunView(measured_run()))).beside]
    assert "p99" in labels
    assert "time above the floor" not in labels
    subject = PageSubject(RunView(measured_run()))
    assert {(one.above, one.fix) for one in first_screen(subject).rows} == {("", "")}
    page = report_page([subject]).decode().partition('<nav class="tabs"')[0]
    for title in ("What to do", "Bound"):
        assert f">{title}</th>" not in page
    assert "Not known: floors (the run has no plan), what to do (no rule ran)" in page
    assert ">not known<" not in page


@pytest.mark.parametrize(("ratio", "is_said"), [(1.2, True), (0.5, True), (1.001, False)])
def test_the_first_screen_explains_a_sum_of_layers_that_is_not_the_latency(ratio, is_said) -> None:
    whole_ms = RunView(measured_run()).layer_sum.whole_ms
    view = RunView(measured_run(profile=profile(sum_ms=ratio * whole_ms / 0.98)))
    figures = {one.label: one for one in first_numbers(PageSubject(view)).beside}
    note = layer_sum_note(view.layer_sum)
    assert (note is not None) == is_said
    assert ("layer times, sum" in figures) == is_said
    if note is not None:
        assert figures["layer times, sum"].note == note
        assert ("unexplained: " in note) == (ratio < 1)
        assert (icicle_data(PageSubject(view)).get("rest_ms") is not None) == (ratio < 1)


def with_time_of_unknown_floors(time_ms: float | None) -> PageSubject:
    """The plan with a floor of all layers but one, which took `time_ms`; the others took 1 ms."""
    subject = small(timed=time_ms is not None)
    found = subject.plan.roofline
    layers = [replace(one, time_ms=1.0 if time_ms else None) for one in found.layers]
    layers[0] = replace(layers[0], memory_ms=None, compute_ms=None, time_ms=time_ms)
    subject.plan.__dict__["roofline"] = replace(found, layers=tuple(layers))
    return subject


@pytest.mark.parametrize(
    ("time_ms", "label", "is_shown"),
    [
        (0.1, "time above the floor", True),
        (9.0, "time above the floor", False),
        (None, "least time", False),
    ],
)
def test_floors_that_leave_out_most_of_the_time_are_no_figure(time_ms, label, is_shown) -> None:
    figures = first_numbers(with_time_of_unknown_floors(time_ms)).beside
    (figure,) = (one for one in figures if one.label == label)
    assert (figure.value != "not known") == is_shown
    assert ("H200: floor of 3 of 4 layers known" in figure.note) != is_shown
    assert ("floor unknown: 1 layer" in figure.note) == (time_ms is not None)


def test_a_run_that_is_not_usable_says_so_at_its_figure_and_when_to_repeat_it() -> None:
    busy = Notice(code="W-LOAD", message="busy machine: …", evidence={"unstable": True})
    run = measured_run(notices=(busy,))
    subject = PageSubject(RunView(run))
    main = first_numbers(subject).main
    assert main.is_weak
    assert (main.note or "").startswith("not usable\n95 % CI ")
    again = ("next", "measure again when the machine is idle", run.command)
    assert next_steps(subject)[0] == again
    text = report_page([subject]).decode().replace("<span>", "").replace("</span>", "")
    assert f"measure again when the machine is idle: <code>{run.command}</code>" in text
    assert '<div class="main-figure weak">' in text
    calm = PageSubject(RunView(measured_run(notices=())))
    assert next_steps(calm)[0][2] == "enginescope compare 7f3ac019 OTHER"
    assert first_numbers(calm).main.is_weak is False


def test_a_run_that_timed_no_layers_says_first_how_to_time_them() -> None:
    run = measured_run(notices=(), profile=None)
    options = {"tactic_sources": "-CUDNN,-CUBLAS", "builder_optimization_level": "2"}
    trt = BackendSpec(name="trt", precision="fp16", options=options)
    job = replace(run.job, backend=trt, layer_profile=False)
    subject = PageSubject(RunView(replace(run, job=job)))
    spec = "'trt:fp16?tactic_sources=-CUDNN,-CUBLAS&builder_optimization_level=2'"
    command = f"enginescope bench m/squeezenet.onnx --on {spec} --batch 1 --layers"
    assert next_steps(subject)[0] == ("next", "time the layers", command)
    # The title has the backend, the line below it the options.
    name = "squeezenet.onnx · trt fp16 + 2 options · batch 1 · 1×3×227×227"
    assert subject_line(subject.view.run) == name
    said = "options of trt fp16: tactic_sources=-CUDNN,-CUBLAS & builder_optimization_level=2"
    assert said in unescape(report_page([subject]).decode())
    assert said in report_markdown([subject]).decode().replace("\\", "")
    assert said in " ".join(summary_text(subject.view).split())
