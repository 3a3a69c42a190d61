"""Distribution and series."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.figures import summary_rows
from enginescope.render.charts.series import latency_series
from enginescope.render.sections.section import Section


def distribution(view: RunView) -> Section:
    """Every metric's figures, and latency over the run."""
    chart = latency_series(view)
    return Section(
        key="distribution",
        title="Distribution and series",
        charts=(chart,) if chart else (),
        empty=None if chart else "This run has no samples: nothing was timed.",
        facts={"table": summary_rows(view)},
    )
