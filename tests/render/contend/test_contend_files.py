import json

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import VerdictKind
from enginescope.notebook.display import shown_as
from enginescope.notebook.verdicts import ShownContend
from enginescope.render.contend.contend_answer import contend_answer
from tests.analysis.contend.contended import report
from tests.render.outputs import outputs, phrases

contend_json, contend_markdown, contend_page, contend_csv = outputs(contend_answer)
answer_text, scope_facts = phrases(contend_answer)
SLOWED = {("A", "B"): 2.0, ("B", "A"): 1.5}


def test_the_answer_is_each_loss_or_none_or_inconclusive() -> None:
    text = answer_text(report(SLOWED))
    assert text.startswith("sharing slows A 2.00 × and B 1.50 ×; total throughput is 5")
    assert text.endswith("% of the sum without sharing")
    assert answer_text(report()).startswith("no contender is slowed by more than 1 %; total")
    assert repr(shown_as(ShownContend)(report())).startswith("<ContendReport no contender is slow")
    text = answer_text(report(scatter=0.2))
    assert text.startswith("inconclusive: A ")
    assert " … " in text
    assert text.endswith("; measure more rounds")


def test_an_inconclusive_contender_is_marked_and_a_busy_machine_said_first() -> None:
    found = report(SLOWED)
    first, second = found.slow_downs
    mixed = replace(found, slow_downs=(first, replace(second, kind=VerdictKind.INCONCLUSIVE)))
    assert ", inconclusive)" in answer_text(mixed)
    matrix = contend_answer(mixed).tables[0]
    assert matrix.rows[1][1].endswith(" ?")
    assert (matrix.note or "").endswith("? inconclusive")
    busy = Notice(code="W-LOAD", message="busy machine", evidence={"unstable": True})
    assert answer_text(replace(report(SLOWED), notices=(busy,))).startswith(
        "unstable measurement: "
    )


def test_the_matrix_has_the_slowed_in_rows_and_a_column_of_all() -> None:
    matrix, sets, times = contend_answer(report(SLOWED)).tables
    assert matrix.headers == ("Slowed", "beside A", "beside B")
    assert matrix.rows[0][:2] == ("A", "—")
    assert matrix.rows[0][2].startswith("2.00 (")
    assert matrix.rows[1][1].startswith("1.50 (")
    assert sets.rows[0][0] == "A + B"
    assert [row[0] for row in times.rows] == ["A", "A beside B", "B", "B beside A"]
    matrix, sets, _ = contend_answer(report({("C", "A"): 4.0}, count=3)).tables
    assert matrix.headers[-1] == "beside all"
    assert matrix.rows[2][1].startswith("4.0")
    assert matrix.rows[2][-1].startswith("4.0")
    assert [row[0] for row in sets.rows] == ["A + B", "A + C", "B + C", "A + B + C"]


def test_mps_is_named_where_there_is_a_gpu() -> None:
    words = {"serves": "MPS serves the GPU", "running": "no MPS server", "off": "take turns"}
    for mps, text in words.items():
        assert text in dict(scope_facts(replace(report(), mps=mps)))["share"]
    assert "MPS" not in dict(scope_facts(report()))["share"]


def test_json_csv_markdown_and_page_have_every_slow_down() -> None:
    found = report(SLOWED)
    document = json.loads(contend_json(found))
    assert document["verdict"] == "slowed"
    assert len(document["report"]["slow_downs"]) == 2
    head, *rows = contend_csv(found).decode().splitlines()
    assert head.startswith("contender,beside,slow_down,low,high,verdict")
    assert [row.split(",")[:2] for row in rows] == [["A", "B"], ["B", "A"]]
    assert rows[0].split(",")[5] == "slower"
    assert "| Slowed | beside A | beside B |" in contend_markdown(found).decode()
    page = contend_page(found).decode()
    assert page.index("Slow-downs") < page.index('<section id="throughput">')
