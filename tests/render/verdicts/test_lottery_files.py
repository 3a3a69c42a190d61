"""A lottery of builds as text, Markdown, JSON, page and notebook: the answer leads."""

import json

import pytest

from enginescope.analysis.lottery.lottery_report import lottery_report
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.notebook.html_fragments import answer_html
from enginescope.render.verdicts.lottery_answer import lottery_answer
from tests.analysis.lottery.drawn import draws, report
from tests.analysis.lottery.test_lottery_report import network
from tests.render.outputs import outputs, phrases

lottery_json, _, lottery_page, _ = outputs(lottery_answer)
answer_text, scope_facts = phrases(lottery_answer)


def with_tactics(layers: int = 7):
    """A report of three builds, in which the second has another tactic in so many layers.

    Their layers add up to less than the 2 ms of a request: no part of the profiler is subtracted.
    """

    def made(tactic: str, ms: float):
        base = network(tactic, ms)
        for at in range(layers - 1):
            base.add(f"conv{at}", "Convolution", 32 + at, ms, side=1, tactic_name=tactic)
        return base.run("net")

    runs = (made("h884", 0.05), made("i1688", 0.1), made("h884", 0.05))
    return lottery_report(
        draws(builds=3, plans=runs, build_sd=0.05), backend="trt:fp16", duration_s=90.0
    )


def test_the_answer_is_by_how_much_each_level_differs_with_a_picture() -> None:
    text = answer_text(report(build_sd=0.02, process_sd=0.003, seed=1))
    assert text.startswith("builds of net.onnx differ by ")
    assert "% (95 % CI " in text
    assert "; processes of one build vary by 0." in text
    assert dict(scope_facts(report()))["evidence"] == "independent builds"
    found = report(build_sd=0.02, process_sd=0.003, seed=1)
    rows = lottery_answer(found).charts[0].spec["data"]["values"]
    assert [row["name"] for row in rows] == [f"build {one.number}" for one in found.builds]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


def test_no_seen_variation_is_no_claim_and_a_bound_above_half_is_inconclusive() -> None:
    """It was "no difference above 110 %", which no reader could use."""
    found = report(process_sd=0.003)
    text = answer_text(found)
    assert text.startswith("builds of net.onnx differ by at most 0.30 %, if at all: processes of ")
    assert dict(scope_facts(found))["next"].startswith("compare single builds")
    assert lottery_answer(found).tables[0].rows[0][2] == "0 … 0.30 %"  # the same bound
    build, *others = found.components
    wide = replace(found, components=(replace(build, high_pct=108.4), *others))
    assert answer_text(wide).startswith("inconclusive whether builds of net.onnx differ: processes")
    assert "110" not in answer_text(wide)
    assert dict(scope_facts(wide))["next"].startswith("measure again on an idle machine")


def test_the_next_step_depends_on_what_was_built_and_on_the_machine() -> None:
    """On a busy machine it was "compare single builds", below a warning of that."""
    found = report(build_sd=0.02)
    assert "pin a timing cache" in dict(scope_facts(found))["next"]
    pinned = replace(found, spread=replace(found.spread, timing_cache_sha256="c" * 64))
    facts = dict(scope_facts(pinned))
    assert facts["next"] == "compare several builds (upgrade --builds)"
    assert facts["a build"] == "an engine, built anew with the timing cache cccccccccccc"
    assert "ONNX Runtime" in dict(scope_facts(replace(found, made="optimized graph")))["a build"]
    load = Notice(code="W-LOAD", message="other load on this machine")
    for one in (report(process_sd=0.003), found):
        facts = dict(scope_facts(replace(one, notices=(load,))))
        assert facts["next"].startswith("measure again on an idle machine")


def test_layers_with_several_tactics_are_listed_with_their_cost() -> None:
    found = with_tactics()
    told = "7 layers with several tactics; slowest less fastest 0.350 ms in all"
    assert told in dict(scope_facts(found))["tactics"]
    answer = lottery_answer(found)
    short, whole = answer.screen[-1], answer.tables[-1]
    assert (len(short.rows), short.left_out) == (5, 2)
    assert len(whole.rows) == 7
    cost, _, tactics = whole.rows[0]
    assert cost == "0.0500 ms"
    assert tactics == "h884 (0.0500 ms, builds 1, 3)\ni1688 (0.100 ms, build 2)"
    assert len(lottery_answer(report()).tables) == 2


def test_a_short_list_has_the_fastest_and_the_slowest_and_no_column_of_nothing() -> None:
    found = with_tactics(1)
    choice = found.layers[0].tactics[0]
    many = tuple(replace(choice, tactic=f"h{at}", mean_ms=at, builds=(at,)) for at in range(1, 6))
    found = replace(found, layers=(replace(found.layers[0], tactics=many),))
    lines = lottery_answer(found).screen[-1].rows[0][2].splitlines()
    assert lines == ["h1 (1.00 ms, build 1)", "3 others", "h5 (5.00 ms, build 5)"]
    assert len(lottery_answer(found).tables[-1].rows[0][2].splitlines()) == 5
    headers = lottery_answer(report(builds=3)).tables[1].known().headers
    assert not {"device", "layers"} & set(headers)
    assert "layers" in lottery_answer(with_tactics()).tables[1].headers


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (0.0, "identical bits in all builds"),
        (0.5, "2 kinds in 3 builds, up to 0.5 from build 1"),
        (float("inf"), "2 kinds in 3 builds, up to names, shapes or NaNs from build 1"),
    ],
)
def test_outputs_in_a_line(gap, text) -> None:
    found = report(builds=3)
    first, second, third = found.builds
    first, third = (replace(one, output_gap=0.0, outputs="A") for one in (first, third))
    second = replace(second, output_gap=gap, outputs="B" if gap else "A")
    assert dict(scope_facts(replace(found, builds=(first, second, third))))["outputs"] == text


def test_json_has_every_level_and_the_page_every_layer() -> None:
    components = json.loads(lottery_json(report(builds=3)))["report"]["components"]
    assert [one["level"] for one in components] == ["build", "process", "iteration"]
    page = lottery_page(with_tactics()).decode()
    assert page.index("standard deviation") < page.index("build time")
    assert "h884 (0.0500 ms, builds 1, 3); i1688 (0.100 ms, build 2)" in page
    for text in (page, answer_html(lottery_answer(with_tactics()))):
        assert "conv5" in text
