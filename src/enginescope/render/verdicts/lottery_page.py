"""A lottery of builds as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.html.tables_page import tables_page
from enginescope.render.verdicts.lottery_phrases import TACTICS
from enginescope.render.verdicts.lottery_writers import lottery_answer, lottery_json


def lottery_page(report: LotteryReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer and the components, then builds and layers.

    Args:
        script_address: See `page_bytes`.
    """
    return tables_page(
        "lottery",
        lottery_answer(report),
        lottery_json(report),
        title="Lottery of builds",
        sentences=(TACTICS,),
        script_address=script_address,
    )
