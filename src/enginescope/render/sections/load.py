"""The section of a load test: the answer, then latency and its parts."""

from __future__ import annotations

from enginescope.analysis.load.trials import trial_of
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.figures import Figures
from enginescope.render.load.load_chart import parts_chart
from enginescope.render.load.load_phrases import PART_HEADERS, part_rows, trial_text
from enginescope.render.sections.section import Section


def load(view: RunView) -> Section | None:
    """Latency under load with its parts; ``None`` of a load test without latencies."""
    if view.latency is None:
        return None
    trial = trial_of(view.run, None)
    chart = parts_chart(trial)
    return Section(
        key="load",
        title="Load",
        answer=trial_text(trial),
        charts=(chart,) if chart else (),
        facts={
            "table": Figures(
                caption="Latency and its parts; each percentile is of its own times",
                headers=PART_HEADERS,
                rows=part_rows(trial),
                numbers=(1, 2, 3, 4),
            )
        },
    )
