"""Writers of a lottery of builds: terminal, JSON, Markdown."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.base.answer_markdown import answer_markdown
from enginescope.render.base.answer_tables import AnswerTables
from enginescope.render.base.figures import TextTable
from enginescope.render.verdicts.lottery_phrases import (
    TOP_LAYERS,
    answer_text,
    build_table,
    component_table,
    layer_table,
    scope_facts,
)

#: Version of the document's shape.
LOTTERY_SCHEMA = 1


def lottery_tables(report: LotteryReport, *, top: int | None = TOP_LAYERS) -> list[TextTable]:
    """Return the components, the builds, and layers with several tactics.

    Args:
        top: So many layers at most.
    """
    found = (component_table(report), build_table(report), layer_table(report, top))
    return [one for one in found if one is not None]


def lottery_json(report: LotteryReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return encode(
        {
            "schema": LOTTERY_SCHEMA,
            "enginescope": __version__,
            "answer": answer_text(report),
            "report": report,
        }
    )


def lottery_answer(report: LotteryReport, *, top: int | None = None) -> AnswerTables:
    """Return the answer, its facts and its tables.

    Args:
        top: So many layers at most.
    """
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(lottery_tables(report, top=top)),
        notices=report.notices,
    )


def lottery_markdown(report: LotteryReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    found = lottery_answer(report, top=TOP_LAYERS)
    return answer_markdown(found.answer, found.facts, found.tables, found.notices)
