"""Memory: the largest layers, and what is alive at each layer."""

from __future__ import annotations

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.liveness import liveness
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted
from enginescope.render.base.palette import PURPLE, SKY
from enginescope.render.base.phrases import shorten
from enginescope.render.charts.bars import bar_chart, group_color
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html.images import X_TICKS, Chart, Spec, marks, quantity, tooltip

_MIB = 1 << 20
_COLORS = {"weights": PURPLE, "activations": SKY}
_MOST_POINTS = 1_000
_ALIVE = {"x": "position#", "name": "layer", "y": "alive, MiB#"}
_LIFE = (
    "Each from its writer to its last reader, in the plan's order; without the engine's inputs "
    "and outputs. TensorRT may need more, for workspaces, or less, where layers work in place"
)


def largest_layers(view: PlanView, *, top: int = 30) -> Chart | None:
    """The layers with the largest footprint: activations and weights."""
    known = [row for row in view.facts if row.size.footprint_bytes]
    ranked = sorted(known, key=lambda row: -(row.size.footprint_bytes or 0))
    if not ranked:
        return None
    rows = [part for rank, row in enumerate(ranked[:top]) for part in _parts(rank, row)]
    whole = sum(row.size.footprint_bytes or 0 for row in known)
    unknown = len(view.facts) - sum(row.size.footprint_bytes is not None for row in view.facts)
    left = (f"{counted(unknown, 'layer')} not counted: unknown size",) if unknown else ()
    shown = f"{min(top, len(ranked)):,} of {counted(len(ranked), 'layer')}"
    return bar_chart(
        rows,
        "activations and weights, MiB",
        {"name": "layer", "group": "of it", "value": "size, MiB#", "type": "type"},
        group_color("of it", list(_COLORS), lambda one: _COLORS[one or "weights"]),
        key="footprint-per-layer",
        title="Layers by footprint: activations read and written, and weights",
        subtitle=(f"The largest {shown}; all together {format_bytes(whole)}", *left),
        is_wide=True,
    )


def live_activations(view: PlanView) -> Chart | None:
    """Activations alive at each layer, if the layers run in the plan's order."""
    found = liveness(view.plan, view.roles)
    if found is None or not found.peak_bytes:
        return None
    step = -(-len(found.live_bytes) // _MOST_POINTS)
    rows: list[Spec] = [
        {
            "x": start + 1,
            "y": max(found.live_bytes[start : start + step]) / _MIB,
            "name": view.layers[start].name,
        }
        for start in range(0, len(found.live_bytes), step)
    ]
    unknown = (f"{counted(found.unknown, 'tensor')} of unknown size not counted",)
    peak = view.layers[found.peak_at]
    return Chart(
        key="live-activations",
        title=(
            f"Activations alive at each layer: at most {format_bytes(found.peak_bytes)}, "
            f"at layer {found.peak_at + 1:,}"
        ),
        subtitle=(
            f"The most is alive while {shorten(peak.name, 60)} runs",
            _LIFE,
            *(unknown if found.unknown else ()),
        ),
        spec=marks(
            rows,
            {"type": "area", "line": True, "opacity": 0.35, "interpolate": "step"},
            x=quantity(
                "x",
                "position among the layers that do work",
                scale={"zero": False, "nice": False},
                axis={"grid": False, **X_TICKS, "tickMinStep": 1, "format": ",.0f"},
            ),
            y=quantity("y", "alive, MiB", axis={"tickCount": 5}),
            tooltip=tooltip(**_ALIVE),
        ),
        table=table_of_tips(rows, _ALIVE),
        height=180,
        is_wide=True,
    )


def _parts(rank: int, row: LayerFacts) -> list[Spec]:
    sizes = {"weights": row.size.weights_bytes, "activations": row.size.activation_bytes}
    return [
        {
            "row": f"{rank:05}",
            "label": row.layer.name,
            "name": row.layer.name,
            "type": row.layer.type,
            "group": name,
            "value": size / _MIB,
        }
        for name, size in sizes.items()
        if size
    ]
