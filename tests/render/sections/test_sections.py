from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.run.run import Run
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.graph import MOST_STILL, graph
from enginescope.render.sections.layers import memory, precisions
from enginescope.render.sections.measurement import request_timeline
from tests.analysis.card_plans import TIMES, profile_of, small_plan
from tests.analysis.graph.test_fold import transformer
from tests.analysis.graph.test_plan_graph import made
from tests.analysis.runs.test_time_line import trace
from tests.render.graph.test_canvas import read
from tests.render.runs import EVIL, imported_run, measured_run


def subject_of(plan: Plan, *, timed: bool = True) -> PageSubject:
    profile = profile_of(TIMES) if timed else None
    run: Run = run_of_engine(EngineFacts(name=plan.name, plan=plan, profile=profile))
    return PageSubject(RunView(run))


def test_a_small_plan_has_both_and_runs_without_a_plan_neither() -> None:
    subject = subject_of(small_plan())
    kept, types = memory(subject), precisions(subject)
    assert [one.key for one in kept.charts] == ["live-activations", "footprint-per-layer"]
    assert [one.key for one in types.charts] == ["precision-rollup", "latency-per-type"]
    bare = Plan(name="n", layers=(Layer(index=0, name="a"),), source_schema="names-only")
    for subject in (PageSubject(RunView(measured_run())), subject_of(bare, timed=False)):
        assert memory(subject) is None
        assert precisions(subject) is None


def test_what_is_unknown_or_hidden_has_words() -> None:
    plan = Plan(name="n", layers=(Layer(index=0, name="a", type="Pooling"),))
    subject = subject_of(plan, timed=False)
    kept, types = memory(subject), precisions(subject)
    assert types is not None
    assert (types.empty or "").startswith("The plan has no precisions")
    assert kept.empty == "The plan has no sizes of tensors."
    kept = memory(subject_of(small_plan()))
    assert kept is not None
    assert "stand" not in (kept.answer or "")
    layers = tuple(replace(one, type="Myelin") for one in small_plan().layers)
    hidden = memory(subject_of(replace(small_plan(), layers=layers)))
    assert hidden is not None
    said = "without the contents of 5 layers that stand for a part of the network"
    assert said in (hidden.answer or "")


def section_of(plan: Plan | None):
    return graph(PageSubject(RunView(imported_run(plan=plan, profile=None))))


def test_a_run_without_a_plan_or_without_layers_to_draw_has_none() -> None:
    assert section_of(None) is None
    assert b'id="graph-data"' not in report_page([RunView(measured_run())])
    assert b"readContainer" not in report_page([RunView(measured_run())])
    found = section_of(Plan(name="p", layers=(Layer(index=0, name="n", type="NoOp"),)))
    assert "no graph" in found.empty


def test_what_it_is_of() -> None:
    for plan, words in (
        (made(("a", "x", "y"), io="x>y"), "1 layer, 2 tensors between them; no profile"),
        (transformer(2), "12 layers, 13 tensors between them"),
    ):
        assert section_of(plan).facts["sentence"].startswith(words)


def test_layers_know_their_rows() -> None:
    subject = PageSubject(RunView(imported_run()))
    data = read(str(graph(subject).facts["data"]))
    names = [data["strings"][one] for one in data["nodes"]["name"]]
    assert EVIL in names
    for name, row in zip(names, data["rows"].tolist(), strict=True):
        assert row < 0 or subject.layers[row].name == name
    assert sum(row >= 0 for row in data["rows"].tolist()) == 4


def test_only_small_plans_have_a_still_picture() -> None:
    assert "<svg" in section_of(transformer(400)).facts["still"]  # one repeat
    chain = tuple((f"l{one}", f"t{one}", f"t{one + 1}") for one in range(MOST_STILL + 5))
    plan = made(*chain, kind="kgen")
    different = tuple(replace(one, type=f"T{one.index}") for one in plan.layers)
    assert section_of(Plan(name="p", layers=different)).facts["still"] is None


def marks(chart):
    return chart.spec["layer"][0]["data"]["values"]


def test_a_typical_request_stands_between_its_neighbors() -> None:
    assert request_timeline(None) is None
    chart = request_timeline(trace([2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 2.0]))
    assert chart.title == "One request of 7: 3.00 ms, compute 66.7 % of it"
    found = marks(chart)
    assert {one["request"] for one in found} == {f"{at} of 7" for at in (2, 3, 4, 5, 6)}
    own = [one for one in found if one["request"] == "4 of 7"]
    assert [(one["lane"], round(one["start"], 6), round(one["end"], 6)) for one in own] == [
        ("enqueue (host)", 0, 0),
        ("H2D", 0.2, 1.2),
        ("compute", 1.2, 3.2),
    ]
    assert len({one["fill"] for one in own}) == 1
    assert not {one["fill"] for one in own} & {one["fill"] for one in found if one not in own}
    assert len(chart.subtitle) == 1
    late = request_timeline(trace([2.0] * 5, enqueue_at=0.25, stream=1.0))
    assert "differ by at least 0.250 ms" in late.subtitle[1]
    assert {one["lane"] for one in marks(late)} == {"enqueue (host)", "H2D", "compute"}
