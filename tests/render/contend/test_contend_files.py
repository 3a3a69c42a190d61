"""A contention test as text, Markdown, JSON, page and notebook: the answer leads."""

import json

import pytest

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.notebook.html_fragments import answer_html
from enginescope.render.contend.contend_answer import contend_answer
from tests.analysis.contend.contended import report
from tests.render.outputs import outputs, phrases
from tests.render.verdicts.test_gate_files import NASTY

contend_json, contend_markdown, contend_page, contend_csv = outputs(contend_answer)
answer_text, scope_facts = phrases(contend_answer)
SLOWED = {("A", "B"): 2.0, ("B", "A"): 1.5}


def test_the_answer_names_each_loss_and_the_throughput() -> None:
    text = answer_text(report(SLOWED))
    assert text.startswith("sharing slows A 2.00 × and B 1.50 ×; total throughput is 5")
    assert text.endswith("% of the sum without sharing")


def test_no_loss_is_said_with_its_limit() -> None:
    assert answer_text(report()).startswith("no contender is slowed by more than 1 %; total")


def test_an_inconclusive_answer_has_its_intervals() -> None:
    text = answer_text(report(scatter=0.2))
    assert text.startswith("inconclusive: A ")
    assert " … " in text
    assert text.endswith("; measure more rounds")


def test_an_inconclusive_contender_is_marked_beside_a_slowed_one() -> None:
    found = report(SLOWED)
    first, second = found.slow_downs
    from enginescope.judge.verdict import VerdictKind

    mixed = replace(found, slow_downs=(first, replace(second, kind=VerdictKind.INCONCLUSIVE)))
    assert ", inconclusive)" in answer_text(mixed)
    matrix = contend_answer(mixed).tables[0]
    assert matrix.rows[1][1].endswith(" ?")
    assert (matrix.note or "").endswith("? inconclusive")


def test_a_busy_machine_is_said_first() -> None:
    busy = Notice(code="W-LOAD", message="busy machine", evidence={"unstable": True})
    assert answer_text(replace(report(SLOWED), notices=(busy,))).startswith(
        "unstable measurement: "
    )


def test_the_matrix_has_the_slowed_in_rows() -> None:
    matrix, sets, times = contend_answer(report(SLOWED)).tables
    assert matrix.headers == ("Slowed", "beside A", "beside B")
    assert matrix.rows[0][:2] == ("A", "—")
    assert matrix.rows[0][2].startswith("2.00 (")
    assert matrix.rows[1][1].startswith("1.50 (")
    assert sets.rows[0][0] == "A + B"
    assert [row[0] for row in times.rows] == ["A", "A beside B", "B", "B beside A"]


def test_three_contenders_have_a_column_of_all() -> None:
    matrix, sets, _ = contend_answer(report({("C", "A"): 4.0}, count=3)).tables
    assert matrix.headers[-1] == "beside all"
    assert matrix.rows[2][1].startswith("4.0")
    assert matrix.rows[2][-1].startswith("4.0")
    assert [row[0] for row in sets.rows] == ["A + B", "A + C", "B + C", "A + B + C"]


@pytest.mark.parametrize(
    ("mps", "text"),
    [("serves", "MPS serves the GPU"), ("running", "no MPS server"), ("off", "take turns")],
)
def test_mps_is_named_where_there_is_a_gpu(mps, text) -> None:
    assert text in dict(scope_facts(replace(report(), mps=mps)))["share"]
    assert "MPS" not in dict(scope_facts(report()))["share"]


def test_json_has_verdict_answer_and_report() -> None:
    found = json.loads(contend_json(report(SLOWED)))
    assert found["verdict"] == "slowed"
    assert found["answer"] == answer_text(report(SLOWED))
    assert len(found["report"]["slow_downs"]) == 2


def test_csv_has_a_row_for_each_slow_down() -> None:
    head, *rows = contend_csv(report(SLOWED)).decode().splitlines()
    assert head.startswith("contender,beside,slow_down,low,high,verdict")
    assert [row.split(",")[:2] for row in rows] == [["A", "B"], ["B", "A"]]
    assert rows[0].split(",")[5] == "slower"


def test_markdown_page_and_notebook_lead_with_the_answer() -> None:
    found = report(SLOWED)
    markdown = contend_markdown(found).decode()
    assert markdown.startswith("### enginescope: sharing slows A 2.00 ×")
    assert "| Slowed | beside A | beside B |" in markdown
    page = contend_page(found).decode()
    assert "<h1>Sharing slows A 2.00 ×" in page
    assert page.index("Slow-downs") < page.index('<section id="throughput">')
    html = answer_html(contend_answer(found))
    assert html.index("sharing slows A") < html.index("Slow-downs")


def test_names_of_others_cannot_break_out() -> None:
    nasty = replace(report(), contenders=(replace(report().contenders[0], model=NASTY),) * 2)
    for text in (
        contend_page(nasty).decode(),
        answer_html(contend_answer(nasty)),
        contend_markdown(nasty).decode(),
    ):
        assert "<script>alert" not in text


def test_it_prints_its_answer() -> None:
    from enginescope.notebook.display import shown_as
    from enginescope.notebook.verdicts import ShownContend

    assert repr(shown_as(ShownContend)(report())).startswith(
        "<ContendReport no contender is slowed"
    )
