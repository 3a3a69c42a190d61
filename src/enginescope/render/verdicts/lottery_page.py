"""A lottery of builds as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.html.page_frame import PageData, page_bytes
from enginescope.render.verdicts.lottery_phrases import answer_text, scope_facts
from enginescope.render.verdicts.lottery_writers import lottery_json, lottery_tables


def lottery_page(report: LotteryReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer and the components, then builds and layers.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    components, *others = lottery_tables(report, top=None)
    return page_bytes(
        "lottery.html.j2",
        PageData(charts={}, files={"lottery.json": lottery_json(report).decode()}),
        script_address=script_address,
        title="Lottery of builds",
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        overview=components.figures(),
        sections=[(one.title, one.title.split()[0].lower(), one.figures()) for one in others],
        left_out=[],
    )
