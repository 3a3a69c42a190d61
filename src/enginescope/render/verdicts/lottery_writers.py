"""Writers of a lottery of builds: terminal, JSON, Markdown."""

from __future__ import annotations

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.base.data_table import escaped, markdown_row
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


def lottery_markdown(report: LotteryReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    lines = [f"### enginescope: {escaped(answer_text(report))}", ""]
    lines += [f"- {name}: {escaped(text)}" for name, text in scope_facts(report)]
    for part in lottery_tables(report):
        marks = ["---:" if name in part.numbers else "---" for name in part.headers]
        lines += ["", markdown_row(part.headers), markdown_row(marks)]
        lines += [
            markdown_row([escaped(cell.replace("\n", "; ")) for cell in row]) for row in part.rows
        ]
    if report.notices:
        lines += ["", *(f"- {escaped(one.message)} ({one.code})" for one in report.notices)]
    return ("\n".join(lines) + "\n").encode()
