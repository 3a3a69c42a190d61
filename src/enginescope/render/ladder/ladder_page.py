"""A ladder as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from enginescope.records.verdict.ladder import LadderReport, LadderStep
from enginescope.render.charts.waterfall import Bar, waterfall_chart
from enginescope.render.html.answer_page import answer_page, table_section
from enginescope.render.html.images import Chart, ChartTable
from enginescope.render.ladder.ladder_phrases import ROW_HEADERS, adds, rung_cells, title
from enginescope.render.ladder.ladder_writers import ladder_answer, ladder_json


def ladder_page(report: LadderReport) -> bytes:
    """Return the page: the answer, the waterfall, then the tables of rungs and steps."""
    answered = ladder_answer(report)
    rungs, steps = answered.tables
    ways = rungs.figures("Every way to measure; each process is one figure")
    pairs = steps.figures("Steps, from the pairs of processes of each round")
    return answer_page(
        "ladder",
        answered,
        {"ladder.json": ladder_json(report)},
        title="Ladder",
        skip="ladder",
        charts=[ladder_chart(report)],
        sections=[
            table_section(rungs, replace(ways, sentences=(2,))),
            table_section(steps, pairs),
        ],
    )


def ladder_chart(report: LadderReport) -> Chart:
    """Return the waterfall of a ladder."""
    rows = (rung_cells(report, rung)[:3] for rung in report.measured)
    table = ChartTable(headers=ROW_HEADERS[:3], rows=tuple(rows))
    return waterfall_chart("Where the time of a query goes", tuple(_bars(report)), table)


def _bars(report: LadderReport) -> Iterator[Bar]:
    steps = {step.to: step for step in report.steps}
    for rung in report.measured:
        step = steps.get(rung.key)
        if step is not None:
            yield _step_bar(report, step)
        level = rung.value_ms or 0.0
        yield Bar(
            name=title(rung),
            kind="measured",
            start_ms=0.0,
            end_ms=level,
            value_ms=level,
            interval=rung.interval,
        )
        mine = report.mine
        if mine is not None and rung.key is mine.nearest:
            level = mine.value_ms
            yield Bar(name="yours", kind="yours", start_ms=0.0, end_ms=level, value_ms=level)


def _step_bar(report: LadderReport, step: LadderStep) -> Bar:
    start = report.level_ms(step.base) or 0.0
    return Bar(
        name=adds(step),
        kind="step",
        start_ms=start,
        end_ms=start + step.value_ms,
        value_ms=step.value_ms,
        interval=step.interval,
    )
