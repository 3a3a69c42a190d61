"""A load test as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from enginescope.records.verdict.load import LoadReport
from enginescope.render.base.figures import Figures
from enginescope.render.base.phrases import percentile_name
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes
from enginescope.render.load.load_chart import load_chart
from enginescope.render.load.load_phrases import (
    FIGURE_HEADERS,
    PART_HEADERS,
    STEP_HEADERS,
    answer_text,
    loadgen_rows,
    part_rows,
    percentile_of,
    scope_facts,
    step_rows,
)
from enginescope.render.load.load_writers import load_json


def load_page(report: LoadReport, *, script_address: str | None = None) -> bytes:
    """Return the page: the answer, the picture, then the figures.

    Args:
        script_address: See `page_bytes`.
    """
    answer = answer_text(report)
    chart = load_chart(report)
    return page_bytes(
        "load.html.j2",
        PageData(
            charts=charts_data([chart] if chart else []),
            files={"load.json": load_json(report).decode()},
        ),
        script_address=script_address,
        title="Load test",
        answer=answer if answer[1:2].isdigit() else f"{answer[:1].upper()}{answer[1:]}",
        facts=scope_facts(report),
        notices=report.notices,
        chart=chart,
        tables=_tables(report),
        left_out=[],
    )


def _tables(report: LoadReport) -> list[Figures]:
    name = percentile_name(percentile_of(report))
    steps = Figures(
        caption=f"Each run: times are its {name}, in ms",
        headers=STEP_HEADERS,
        rows=step_rows(report),
        numbers=(0, 3, 4, 5, 6),
    )
    parts = Figures(
        caption="Latency and its parts; each percentile is of its own times",
        headers=PART_HEADERS,
        rows=part_rows(report.trials[0]),
        numbers=(1, 2, 3, 4),
    )
    tables = [steps] if len(report.trials) > 1 else [parts, steps]
    if report.loadgen is None:
        return tables
    figures = Figures(
        caption="Figures of the scenario, as LoadGen computes them",
        headers=FIGURE_HEADERS,
        rows=loadgen_rows(report.loadgen),
        numbers=(1,),
    )
    return [figures, *tables]
