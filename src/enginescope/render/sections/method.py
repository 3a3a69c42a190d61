"""How it was measured."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.facts import method_facts, phase_facts
from enginescope.render.sections.section import Section


def method(view: RunView) -> Section:
    """The command to repeat it, rules, providers, phases, versions."""
    run = view.run
    return Section(
        key="method",
        title="How it was measured",
        facts={
            "command": run.command or (run.tool.command if run.tool else None),
            "pairs": [pair for pair in method_facts(run) if pair[0] != "Command"],
            "phases": phase_facts(run),
            "outcome": run.outcome,
        },
    )
