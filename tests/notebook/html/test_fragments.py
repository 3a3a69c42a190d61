import pytest

from enginescope.analysis.plan_comparison.comparison import compare
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.runs.run_view import RunView
from enginescope.formats.importing.import_assembly import EngineFacts, run_of_engine
from enginescope.formats.plan.plan_json import parse_plan
from enginescope.judge.notice import Notice
from enginescope.notebook.html_fragments import (
    answer_html,
    data_table,
    fact_list,
    findings_html,
    fragment,
    notice_list,
    plan_html,
    run_html,
)
from enginescope.records.plan.plan import LayerTiming, Plan, Profile
from enginescope.records.run.run import Run
from enginescope.render.compare.compare_answer import compare_answer
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.rules.engine import lint
from enginescope.rules.view import LintInput
from tests.formats import plans
from tests.notebook.html.pages import checked

EVIL = "</td><script>alert(1)</script>&\"'\x1e<img src=x onerror=alert(1)>"


def plan_named(name: str = "net", layer: str = "conv + relu") -> Plan:
    document = plans.tensorrt_10()
    document["Layers"][1]["Name"] = layer
    return parse_plan(plans.encoded(document), name)[0]


def times(plan: Plan, factor: float = 1.0) -> Profile:
    rows = tuple(
        LayerTiming(index=at, name=layer.name, mean_ms=factor * (at + 1))
        for at, layer in enumerate(plan.active_layers)
    )
    return Profile(source="trtexec", layers=rows, iterations=7)


def run_of(plan: Plan, profile: Profile | None = None, name: str = "net") -> Run:
    return run_of_engine(EngineFacts(name=name, plan=plan, profile=profile))


def test_every_text_is_escaped_and_what_has_nothing_in_it_left_out() -> None:
    html = fragment(
        EVIL,
        fact_list([(EVIL, EVIL)]),
        data_table(EVIL, [EVIL], [[EVIL]], note=EVIL),
        notice_list([Notice(code="W-A", message=EVIL)]),
    )
    found = checked(html)
    assert found.text.count("<script>alert(1)</script>") == 8
    assert "\x1e" not in html
    assert set(found.elements) <= {
        *("div", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li")
    }
    assert data_table("t", ["a"], []) == fact_list([]) == notice_list([]) == ""
    assert checked(fragment("only", "", "")).elements == ["div", "p", "strong"]


def test_plans_with_times_and_without() -> None:
    plan = plan_named(layer=EVIL)
    found = checked(plan_html(PlanView(plan, times(plan))))
    assert "Slowest layers" in found.text
    assert "Time by type" in found.text
    assert "5 layers: 3 launch work, 2 launch nothing" in found.text
    assert "(sum of layer means, 7 iterations, no interval: " in found.text
    found = checked(plan_html(PlanView(plan_named())))
    assert "--exportProfile" in found.text
    bare = checked(plan_html(PlanView(parse_plan(plans.encoded(plans.names_only()), "n")[0])))
    assert "--profilingVerbosity=detailed" in bare.text
    plan = plan_named()
    found = checked(run_html(RunView(run_of(plan, times(plan), name=EVIL))))
    assert "The layers add up to" in found.text
    assert "Time by type" in found.text


def test_findings_are_listed_or_said_to_be_none() -> None:
    plan = plan_named(layer=EVIL)
    found = checked(findings_html(lint(LintInput(plan=plan, profile=times(plan)))))
    assert "Findings" in found.text
    assert "What to do" in found.text
    assert "no profile" in checked(findings_html(lint(LintInput(plan=plan)))).text
    report = lint(LintInput(plan=Plan(name="empty", layers=())))
    assert "findings none" in checked(findings_html(report)).text


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", EVIL)])
def test_compared_plans(names: tuple[str, ...]) -> None:
    runs = []
    for at, name in enumerate(names):
        plan = plan_named(name)
        runs.append(run_of(plan, times(plan, 1.0 + at), name=name))
    found = checked(answer_html(compare_answer(compare(runs), Chosen())))
    assert "The layers of B take 100 % more time" in found.text or len(names) > 2
    assert "Plans" in found.text
    assert ("What explains the difference" in found.text) == (len(names) == 2)
