"""What ends trex with a traceback, from layers without outputs to unknown types: none does here."""

import json
import math

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plans.plan_view import explore
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.notebook.html_fragments import answer_html, findings_html, plan_html
from enginescope.notebook.plan import OpenedPlan
from enginescope.records.plan.plan import Layer, LayerTiming, Plan, Profile
from enginescope.records.run.run import Run
from enginescope.render.compare.compare_answer import compare_answer
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plans.explore_data import explore_csv
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.notebook.html.pages import checked, checked_live
from tests.rules.made import plan
from tests.rules.test_engine import LAYERS

TIMES = st.none() | st.floats(0, 10, allow_subnormal=False)


@st.composite
def timed_plans(draw: st.DrawFn) -> tuple[Plan, Profile | None]:
    layers: list[Layer] = draw(st.lists(LAYERS, max_size=8))
    made = plan(*layers, inputs="a", outputs="d")
    if draw(st.booleans()):
        return made, None
    rows = tuple(
        LayerTiming(index=at, name=layer.name, mean_ms=draw(TIMES))
        for at, layer in enumerate(made.layers)
    )
    return made, Profile(source="trtexec", layers=rows)


def run_of(name: str, made: Plan, profile: Profile | None) -> Run:
    return run_of_engine(EngineFacts(name=name, plan=made, profile=profile))


@pytest.mark.slow
@given(timed_plans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_plan_makes_a_view_fail(given_plan) -> None:
    made, profile = given_plan
    view = OpenedPlan(made, profile, gpu="H200")
    for kind in (None, *view.types):
        assert len({len(values) for values in view.columns(kind).values()}) <= 1
    checked(plan_html(view))
    checked(findings_html(lint(LintInput(plan=made, profile=profile))))
    explore_csv(explore("p", made, profile).layers)
    for shown in view.charts().values():
        assert "NaN" not in json.dumps(shown.spec, allow_nan=False)
        assert len({frozenset(row) for row in shown.rows()}) <= 1
    graph = view.graph(color="time" if view.total_ms else "lint")._repr_html_()
    (checked_live if "<script>" in graph else checked)(graph)  # an empty plan has no graph


@pytest.mark.slow
@given(timed_plans(), timed_plans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_two_plans_make_a_comparison_fail(one, other) -> None:
    found = compare([run_of("one", *one), run_of("other", *other)])
    checked(answer_html(compare_answer(found, Chosen())))
    layers = found.pairs
    if layers.difference_ms is not None:
        explained = math.fsum(it.difference_ms or 0.0 for it in layers.explanations)
        assert math.isclose(explained, layers.difference_ms, abs_tol=1e-9)
    again = compare([run_of("other", *other), run_of("one", *one)]).pairs
    assert (again.a_ms, again.b_ms) == (layers.b_ms, layers.a_ms)
    assert len(again.layers) == len(layers.layers)
    assert msgspec.structs.asdict(layers)
