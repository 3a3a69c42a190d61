"""Sections on memory and precisions of a plan."""

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import replace
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.run.run import Run
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.layers import memory, precisions
from tests.analysis.card_plans import TIMES, profile_of, small_plan
from tests.render.runs import measured_run


def subject_of(plan: Plan, *, timed: bool = True) -> PageSubject:
    profile = profile_of(TIMES) if timed else None
    run: Run = run_of_engine(EngineFacts(name=plan.name, plan=plan, profile=profile))
    return PageSubject(RunView(run))


def test_a_small_plan_has_both() -> None:
    subject = subject_of(small_plan())
    kept, types = memory(subject), precisions(subject)
    assert [one.key for one in kept.charts] == ["live-activations", "footprint-per-layer"]
    assert [one.key for one in types.charts] == ["precision-rollup", "latency-per-type"]


def test_runs_without_a_plan_have_neither() -> None:
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
