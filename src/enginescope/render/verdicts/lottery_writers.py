"""Writers of a lottery of builds: JSON, Markdown, page."""

from __future__ import annotations

from enginescope.records.verdict.lottery import LotteryReport
from enginescope.render.base.answer_tables import AnswerTables, answer_json, answer_markdown
from enginescope.render.charts.estimates import Estimate, estimate_chart
from enginescope.render.html.answer_page import tables_page
from enginescope.render.html.images import Chart
from enginescope.render.verdicts.lottery_phrases import (
    TACTICS,
    TOP_LAYERS,
    answer_text,
    build_table,
    component_table,
    layer_table,
    scope_facts,
)

#: Version of the document's shape.
LOTTERY_SCHEMA = 1


def lottery_answer(report: LotteryReport, *, top: int | None = None) -> AnswerTables:
    """Return the components, the builds, and layers with several tactics.

    Args:
        top: So many layers at most.
    """
    tables = (component_table(report), build_table(report), layer_table(report, top))
    return AnswerTables(
        answer=answer_text(report),
        facts=scope_facts(report),
        tables=tuple(one for one in tables if one is not None),
        notices=report.notices,
    )


def lottery_json(report: LotteryReport) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    return answer_json(LOTTERY_SCHEMA, answer=answer_text(report), report=report)


def lottery_markdown(report: LotteryReport) -> bytes:
    """Return the answer, what it is about, and the tables."""
    return answer_markdown(lottery_answer(report, top=TOP_LAYERS))


def lottery_chart(report: LotteryReport) -> Chart | None:
    """Return the builds by their medians, each with its processes."""
    builds = [
        Estimate(
            name=f"build {build.number}",
            value=build.median_ms,
            kind="build",
            low=min(build.medians_ms),
            high=max(build.medians_ms),
        )
        for build in report.builds
    ]
    return estimate_chart(
        "lottery_builds",
        "Latency of each build",
        builds,
        axis="median latency, ms",
        reference=report.median_ms,
        lines="fastest to slowest process",
        dashed="all builds",
    )


def lottery_page(report: LotteryReport) -> bytes:
    """Return the page: the answer and the components, then builds and layers."""
    return tables_page(
        "lottery",
        lottery_answer(report),
        lottery_json(report),
        title="Lottery of builds",
        chart=lottery_chart(report),
        sentences=(TACTICS,),
    )
