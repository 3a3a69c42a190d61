"""A ladder as text, JSON, page and notebook: the answer leads, names are escaped."""

import json

import pytest

from enginescope.analysis.ladder.rungs import climb, placed
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.samples import Interval
from enginescope.judge.verdict import EvidenceLevel
from enginescope.notebook.html_fragments import answer_html
from enginescope.records.verdict.ladder import LadderReport, Rung, RungKey
from enginescope.render.ladder.ladder_answer import ladder_answer, ladder_chart, waterfall
from tests.analysis.ladder.test_rungs import RUNGS, simulated
from tests.render.outputs import outputs, phrases

ladder_json, ladder_markdown, ladder_page, _ = outputs(ladder_answer)
answer_text, scope_facts = phrases(ladder_answer)
MISSING = Rung(key=RungKey.PROVIDER, base=RungKey.PINNED, why="onnxruntime was built without it")


def meaning_text(found: LadderReport) -> str | None:
    return ladder_answer(found).data["meaning"]


def report(mine: str | None = None, **fields) -> LadderReport:
    figures = simulated(8, 1)
    figures[RungKey.ENQUEUE] = dict.fromkeys(range(8), 0.01)
    climbed = climb((*RUNGS[:-1], MISSING, RUNGS[-1]), figures)
    made = LadderReport(
        model="net.engine",
        backend="trt",
        rungs=climbed.rungs,
        steps=climbed.steps,
        sums=climbed.sums,
        mine=placed(mine, climbed.rungs) if mine else None,
        rounds=8,
        measured_rounds=9,
        evidence=EvidenceLevel.INTERLEAVED,
        comparison="0a1b2c3d",
    )
    return replace(made, **fields)


def test_without_a_figure_the_answer_is_the_largest_step() -> None:
    assert answer_text(report()).startswith("the largest step is “copies”, +0.1")
    assert "to “pinned copies” (0.5" in str(meaning_text(report()))
    notice = Notice(code="W-LOAD", message="others", evidence={"unstable": True})
    assert answer_text(report(notices=(notice,))).startswith("unstable measurement: ")
    facts = dict(scope_facts(report()))
    assert facts["evidence"] == "interleaved processes, 8 rounds, 1 disturbed excluded"
    assert facts["adds up"].startswith("pinned copies: steps +0.1")


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        ("0.5ms", "is “pinned copies” (0.5"),
        ("0.3ms", "fits “layers' own times” (0.3"),
        ("0.4300ms", "nearest to “host latency, no copies” (0.3666 ms, × 1.17)"),
        ("0.4300ms", "and “pinned copies” (0.5099 ms); “host latency, no copies” has the enqueue"),
        ("0.5ms", "it waits for each query and copies from page-locked memory"),
        ("0.3ms", "measure more rounds, or give more digits"),
        ("9.00ms", "it is above all rungs: it contains work"),
        ("0.0010ms", "it is below all rungs: it leaves out"),
    ],
)
def test_a_figure_is_placed_in_a_sentence(mine, words) -> None:
    made = report(mine)
    assert words in f"{answer_text(made)}\n{meaning_text(made)}"


def test_a_wide_rung_and_many_rungs_are_not_named_as_the_answer() -> None:
    made = report("0.5ms")
    wide = Interval(low=0.001, high=9.0)
    rungs = tuple(
        replace(rung, interval=wide) if rung.key is RungKey.PINNED else rung for rung in made.rungs
    )
    uncertain = replace(made, rungs=rungs)
    assert answer_text(uncertain).startswith("0.5ms fits “pinned copies”")
    assert "measure more rounds" in str(meaning_text(uncertain))
    made = report("0.3ms")
    mine = replace(made.mine, alike=tuple(rung.key for rung in RUNGS[:5]))
    assert "fits 5 of 6 rungs (0.2" in answer_text(replace(made, mine=mine))


@pytest.mark.parametrize("width", [80, 120])
def test_the_waterfall_fits_and_has_an_interval_on_each_line(width) -> None:
    lines = waterfall(report("0.3ms"), width=width)
    assert max(map(len, lines)) <= width
    drawn = [line for line in lines if any(sign in line for sign in "█▒░▬")]
    assert len(drawn) == len(RUNGS) + 4 + 1
    assert all(" … " in line for line in drawn)
    missing = "ONNX Runtime's TensorRT: not measured; onnxruntime was built"
    assert any(missing in line for line in lines)
    (saving,) = (line for line in lines if "CUDA graph hides" in line)
    assert "░" in saving
    assert "−0.05" in saving
    made = report()  # a step beyond the largest rung keeps its line
    steps = tuple(replace(step, value_ms=1.0) for step in made.steps)
    assert max(map(len, waterfall(replace(made, steps=steps), width=width))) <= width


def test_json_page_markdown_and_notebook_have_every_rung_and_every_step() -> None:
    document = json.loads(ladder_json(report("0.5ms")))
    provider = document["report"]["rungs"][5]
    assert (provider["key"], provider["value_ms"]) == ("provider", None)
    assert provider["why"] == "onnxruntime was built without it"
    assert document["titles"]["graph"] == "GPU compute, CUDA graph"
    page = ladder_page(report("0.5ms")).decode()
    assert "not measured: onnxruntime was built without it" in page
    assert page.index("waterfall") < page.index('id="steps"')
    text = ladder_markdown(report("0.5ms")).decode()
    assert "| Measured | ms per query |" in text
    assert "| CUDA graph hides launches |" in text
    shown = answer_html(ladder_answer(report()))
    assert "Rungs" in shown
    assert "CUDA graph hides launches" in shown


def test_bars_of_steps_begin_where_their_rung_ends() -> None:
    by_name = {row["what"]: row for row in ladder_chart(report()).spec["data"]["values"]}
    copies = by_name["copies"]
    assert copies["start"] == pytest.approx(by_name["host latency, no copies"]["end"])
    assert copies["kind"] == "more time"
    assert by_name["layers' own times"]["start"] == 0.0
    marked = [layer["mark"] for layer in ladder_chart(report()).spec["layer"]]
    (rule,) = (mark for mark in marked if mark["type"] == "rule")
    assert rule["clip"] is True  # otherwise the bars shrink to a line to leave it room
