"""A ladder as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator

from enginescope.records.verdict.ladder import LadderReport, LadderStep
from enginescope.render.base.figures import Figures
from enginescope.render.charts.waterfall import Bar, waterfall_chart
from enginescope.render.html.images import Chart, ChartTable
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.ladder.ladder_phrases import (
    ROW_HEADERS,
    STEP_HEADERS,
    adds,
    answer_text,
    rung_cells,
    scope_facts,
    step_cells,
    title,
)
from enginescope.render.ladder.ladder_writers import ladder_json


def ladder_page(report: LadderReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer, the waterfall, then the tables of rungs and steps.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    chart = ladder_chart(report)
    return page_bytes(
        "ladder.html.j2",
        PageData(charts=charts_data([chart]), files={"ladder.json": ladder_json(report).decode()}),
        script_address=script_address,
        title="Ladder",
        answer=f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        chart=chart,
        rungs=Figures(
            caption="Every way to measure; each process is one figure",
            headers=ROW_HEADERS,
            rows=tuple(rung_cells(report, rung) for rung in report.rungs),
            numbers=(1, 3),
            sentences=(2,),
        ),
        steps=Figures(
            caption="Steps, from the pairs of processes of each round",
            headers=STEP_HEADERS,
            rows=tuple(step_cells(report, step) for step in report.steps),
            numbers=(3,),
        ),
        left_out=[],
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
