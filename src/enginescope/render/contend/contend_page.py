"""A contention test as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.contend import ContendReport
from enginescope.render.contend.contend_phrases import answer_text, contend_tables, scope_facts
from enginescope.render.contend.contend_writers import contend_json
from enginescope.render.html.page_frame import PageData, page_bytes


def contend_page(report: ContendReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer and the matrix, then throughput and latencies.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    matrix, *others = contend_tables(report)
    return page_bytes(
        "answer.html.j2",
        PageData(charts={}, files={"contend.json": contend_json(report).decode()}),
        script_address=script_address,
        title="Contention",
        what="contention",
        chart=None,
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        overview=matrix.figures(),
        sections=[(table.title, table.title.lower(), table.figures()) for table in others],
        left_out=[],
    )
