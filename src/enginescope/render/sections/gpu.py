"""What the GPU reported of itself, and what a request cost it."""

from __future__ import annotations

from enginescope.analysis.runs.run_view import RunView
from enginescope.render.base.gpu_phrases import energy_sentences, gpu_facts
from enginescope.render.charts.telemetry import telemetry_charts
from enginescope.render.sections.section import Section

_NOT_SAMPLED = (
    "Nothing was sampled over time: enginescope bench --telemetry repeats the loop for that, and "
    "gives the energy of a request."
)
_IDLE = (
    "Time counts from where requests were made again; left of 0 the model is loaded and nothing is "
    "asked of it. Utilisation changes every 1/6 to 1 s however often it is asked for."
)


def gpu(view: RunView) -> Section | None:
    """Clock, energy, other processes, and every quantity over time; ``None`` without a GPU."""
    found = view.run.gpu
    if found is None:
        return None
    charts = telemetry_charts([view])
    return Section(
        key="gpu",
        title="GPU: clock, energy, telemetry",
        charts=charts,
        facts={
            "pairs": gpu_facts(view),
            "energy": energy_sentences(view.energy) if view.energy else (),
            "about": _IDLE if charts else _NOT_SAMPLED,
        },
    )
