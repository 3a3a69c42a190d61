"""Weights, activations and footprints of the layers."""

from __future__ import annotations

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.charts.card.wording import counted
from enginescope.render.plans.page_subject import PageSubject
from enginescope.render.sections.section import Section

_CHARTS = (
    "footprint-per-layer",
    "weights-per-layer",
    "activations-per-layer",
    "live-activations",
    "weights-distribution",
    "activations-distribution",
    "footprint-distribution",
)
_NOTHING = "The plan does not say how large its tensors are."


def card_memory(subject: PageSubject) -> Section | None:
    """What layers keep, read and write, in order and in size; ``None`` without a plan."""
    if subject.plan is None or subject.plan.plan.source_schema == "names-only":
        return None
    charts = charts_of(subject.plan, *_CHARTS)
    return Section(
        key="card-memory",
        title="Memory of the layers",
        charts=charts,
        empty=None if charts else _NOTHING,
        facts={"hidden": _hidden(subject.plan)},
    )


def _hidden(view: PlanView) -> str | None:
    """Say that what is inside some layers is not in the plan."""
    count = view.totals.whole_parts
    if not count:
        return None
    stand = "stands" if count == 1 else "stand"
    return (
        f"{counted(count, 'layer')} {stand} for a whole part of the network (Myelin, ForeignNode): "
        "the plan does not tell the weights and the tensors inside, which are missing below."
    )
