"""A lottery of builds as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from msgspec.structs import replace

from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.html.page_frame import PageData, page_bytes
from enginescope.render.verdicts.lottery_phrases import TACTICS, answer_text, scope_facts
from enginescope.render.verdicts.lottery_writers import lottery_json, lottery_tables


def lottery_page(report: LotteryReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer and the components, then builds and layers.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    components, *others = lottery_tables(report, top=None)
    return page_bytes(
        "answer.html.j2",
        PageData(charts={}, files={"lottery.json": lottery_json(report).decode()}),
        script_address=script_address,
        title="Lottery of builds",
        what="lottery",
        chart=None,
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        overview=components.figures(),
        sections=[(one.title, one.title.split()[0].lower(), _figures(one)) for one in others],
        left_out=[],
    )


def _figures(one: TextTable) -> Figures:
    """Return a table whose cells have no line breaks; lists of tactics are broken as sentences."""
    figures = one.figures()
    rows = tuple(tuple(cell.replace("\n", "; ") for cell in row) for row in figures.rows)
    lists = (one.headers.index(TACTICS),) if TACTICS in one.headers else ()
    return replace(figures, rows=rows, sentences=lists)
