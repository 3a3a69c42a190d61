"""The section of a load test: the answer, then latency and its parts."""

from __future__ import annotations

from enginescope.analysis.load.trials import trial_of
from enginescope.analysis.runs.run_view import RunView
from enginescope.render.load.load_answer import parts_chart, parts_table, trial_text
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
        facts={"table": parts_table(trial).figures()},
    )
