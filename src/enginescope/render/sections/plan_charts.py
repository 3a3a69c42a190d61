"""Memory and precisions of the layers, as charts."""

from __future__ import annotations

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

_NO_SIZES = "The plan has no sizes of tensors."


def memory(subject: PageSubject) -> Section | None:
    """What is alive at each layer, and what the largest layers keep; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    charts = charts_of(view, "live-activations", "footprint-per-layer")
    totals = view.totals
    weights, moved = format_bytes(totals.weights_bytes), format_bytes(totals.activation_bytes)
    return Section(
        key="memory",
        title="Memory of the layers",
        answer=f"weights {weights}; activations {moved}, read and written",
        charts=charts,
        empty=None if charts else _NO_SIZES,
        facts={"hidden": _hidden(view)},
    )


def _hidden(view: PlanView) -> str | None:
    """Say that what is inside some layers is not in the plan."""
    count = view.totals.whole_parts
    if not count:
        return None
    stand = "stands" if count == 1 else "stand"
    return (
        f"{counted(count, 'layer')} {stand} for a part of the network (Myelin, ForeignNode): "
        "the plan does not list its weights and tensors, so they are missing below."
    )


_NO_PRECISIONS = "The plan has no precisions: it was built or written without detailed verbosity."


def precisions(subject: PageSubject) -> Section | None:
    """What part each precision has, by type, and where it changes; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    charts = charts_of(view, "precision-rollup", "latency-per-type", "precision-changes")
    known = any(chart.key == "precision-rollup" for chart in charts)
    return Section(
        key="precision",
        title="Precisions",
        answer=charts[0].title.partition(": ")[2] if known else None,
        charts=charts,
        empty=None if known else _NO_PRECISIONS,
    )
