"""Percentiles."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.figures import percentile_rows
from enginescope.render.charts.percentiles import percentiles as percentile_chart
from enginescope.render.sections.section import Section


def percentiles(view: RunView) -> Section:
    """The percentile curve, and the table with what the samples can carry."""
    chart = percentile_chart(view)
    return Section(
        key="percentiles",
        title="Percentiles",
        charts=(chart,) if chart else (),
        empty=None if chart else "This run has no samples: there are no percentiles.",
        facts={"table": percentile_rows(view)},
    )
