"""Machine and memory."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.facts import machine_facts
from enginescope.render.charts.memory import memory_series
from enginescope.render.sections.section import Section


def machine(view: RunView) -> Section:
    """Host, processor, GPUs, load; memory of the worker over time."""
    chart = memory_series(view)
    facts = machine_facts(view.run)
    nothing = "Nothing is known of the machine: the artefacts this run was made from do not say."
    return Section(
        key="machine",
        title="Machine and memory",
        charts=(chart,) if chart else (),
        empty=None if facts or chart else nothing,
        facts={
            "pairs": facts,
            "no_memory": None if chart else "Memory was not sampled over time in this run.",
        },
    )
