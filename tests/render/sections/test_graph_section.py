"""The graph's part of the page, before any browser."""

import pytest

from enginescope.analysis.runs.run_view import RunView
from enginescope.records.plan.plan import Layer, Plan
from enginescope.render.page.page import report_page
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.graph import MOST_STILL, graph
from tests.analysis.graph.folding.test_fold import transformer
from tests.analysis.graph.test_plan_graph import made
from tests.render.graph.view.test_canvas import read
from tests.render.runs import EVIL, imported_run, measured_run


def section_of(plan: Plan | None):
    return graph(PageSubject(RunView(imported_run(plan=plan, profile=None))))


def test_a_run_without_a_plan_or_without_layers_to_draw_has_none() -> None:
    assert section_of(None) is None
    assert b'id="graph-data"' not in report_page([RunView(measured_run())])
    assert b"readContainer" not in report_page([RunView(measured_run())])
    found = section_of(Plan(name="p", layers=(Layer(index=0, name="n", type="NoOp"),)))
    assert "no graph" in found.empty


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (made(("a", "x", "y"), io="x>y"), "1 layer, 2 tensors between them; no profile"),
        (transformer(2), "12 layers, 13 tensors between them"),
    ],
)
def test_what_it_is_of(plan, words) -> None:
    found = section_of(plan)
    assert found.facts["sentence"].startswith(words)


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
    different = tuple(
        Layer(
            index=one.index,
            name=one.name,
            type=f"T{one.index}",
            inputs=one.inputs,
            outputs=one.outputs,
        )
        for one in plan.layers
    )
    assert section_of(Plan(name="p", layers=different)).facts["still"] is None
