"""Sums over layers: memory, time by type and tactic, shares of precisions."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from enginescope.analysis.memory.buffers import Buffer
from enginescope.analysis.memory.memory_view import MemoryView, memory_of
from enginescope.analysis.plans.plan_columns import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.card_data import group_layers, precision_rollup
from enginescope.core.units import format_bytes, sum_known
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import ORANGE, PURPLE, SKY, precision_color
from enginescope.render.base.short_names import shorten
from enginescope.render.charts.bars import X_TITLE, bar_chart, group_color
from enginescope.render.charts.tip_table import NOT_KNOWN, table_of_tips
from enginescope.render.html.images import X_TICKS, Chart, Spec, category, marks, quantity, tooltip

_MIB = 1 << 20
_COLORS = {"weights": PURPLE, "activations": SKY}


def largest_layers(view: PlanView, *, top: int = 30) -> Chart | None:
    """The layers with the largest footprint: activations and weights."""
    sizes = [row.size.footprint_bytes for row in view.facts]
    known = [at for at, size in enumerate(sizes) if size]
    ranked = sorted(known, key=lambda at: -(sizes[at] or 0))
    if not ranked:
        return None
    largest = enumerate(view.facts[at] for at in ranked[:top])
    rows = [part for rank, row in largest for part in _parts(rank, row)]
    whole, unknown = sum_known(sizes), sizes.count(None)
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
    """Memory between the layers over the execution order, from the plan alone."""
    found = memory_of(view.plan, roles=view.kinds.roles)
    return memory_chart(found) if found is not None else None


def memory_chart(found: MemoryView) -> Chart | None:
    """Memory between the layers over the execution order, and which tensors it is."""
    if not found.peak_bytes:
        return None
    rows, peak = list(_needed(found)), format_bytes(found.peak_bytes)
    unknown = (f"{counted(found.unknown, 'tensor')} of unknown size not counted",)
    lives = (
        "Each from its writer to its last reader, in the plan's order; without the engine's inputs "
        "and outputs. TensorRT may need more, for workspaces, or less, where layers work in place"
    )
    if found.predicted is not None:
        lives = (
            "Tensors from their writer to their last reader, with the memory that the runtime "
            "shares; workspace where the runtime's highest mark shows it"
        )
    tips = {"x": "position#", "name": "layer", "kind": "kind", "y": "needed, MiB#"}
    tips["tensors"] = "largest tensors"
    ticks = {"grid": False, **X_TICKS, "tickMinStep": 1, "format": ",.0f"}
    place = {"scale": {"zero": False, "nice": False}, "axis": ticks}
    return Chart(
        key="live-activations",
        title=f"Memory at each layer: at most {peak}, at layer {found.peak_at + 1:,}",
        subtitle=(
            f"The most is needed while {shorten(found.peak_layer.name, 60)} runs",
            lives,
            *(unknown if found.unknown else ()),
        ),
        spec=marks(
            rows,
            {"type": "area", "line": True, "opacity": 0.6, "interpolate": "step"},
            x=quantity("x", "position among the layers that do work", **place),
            y=quantity("y", "needed, MiB", axis={"tickCount": 5}),
            color=category("kind", {"activation": SKY, "output": PURPLE, "workspace": ORANGE}),
            tooltip=tooltip(**tips),
        ),
        table=table_of_tips(rows, tips),
        height=180,
        is_wide=True,
    )


def _needed(found: MemoryView) -> Iterator[Spec]:
    """Yield a row for each kind of each layer; of many layers, of those that need the most."""
    count = len(found.layers)
    step = -(-count // 1_000)
    blocks = (range(start, min(start + step, count)) for start in range(0, count, step))
    ats = [max(block, key=found.needed_bytes.__getitem__) for block in blocks]
    alive: list[list[Buffer]] = [[] for _ in ats]
    for one in found.buffers.buffers:
        for place in range(bisect_left(ats, one.first), bisect_right(ats, one.last)):
            alive[place].append(one)
    for at, buffers in zip(ats, alive, strict=True):
        buffers.sort(key=lambda one: -(one.nbytes or 0))
        for kind in found.kinds:
            own = [one for one in buffers if one.kind == kind]
            nbytes = sum(one.nbytes or 0 for one in own)
            names = ", ".join(shorten(one.tensor.name, 30) for one in own[:3])
            yield {
                "x": at + 1,
                "y": (found.workspace_bytes[at] or 0 if kind == "workspace" else nbytes) / _MIB,
                "kind": kind,
                "name": found.layers[at].name,
                "tensors": f"{names}, …" if len(own) > 3 else names,
            }


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


_MOST_TYPES = 20


def time_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs:
        return None
    timed = any(pair.time_ms for pair in pairs)
    types = group_layers(view.facts, lambda row: row.layer.type)
    order = {one.key: rank for rank, one in enumerate(types)}
    shown = [pair for pair in pairs if order[pair.key[0]] < _MOST_TYPES]
    shown.sort(key=lambda one: (order[one.key[0]], -(one.time_ms or 0.0), -one.layers))
    rows: list[Spec] = [
        {
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "type": one.key[0],
            "group": one.key[1],
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
            "value": one.time_ms if timed else one.layers,
        }
        for one in shown
    ]
    left = len(types) - _MOST_TYPES
    sums = {"layers": "layers#", "ms": "time, ms#", "share": "share of the sum, %#"}
    more = f"The {_MOST_TYPES} types with the most time; {left:,} more are not shown"
    return bar_chart(
        rows,
        X_TITLE if timed else "layers",
        {"type": "type", "group": "precision", **sums},
        group_color("precision", [pair.key[1] for pair in pairs], precision_color),
        key="latency-per-type",
        title=f"{'Time' if timed else 'Layers'} by type, split by precision",
        subtitle=(more,) if left > 0 else (),
    )


def rollup(view: PlanView) -> Chart | None:
    """What part of layers, time, work and bytes each precision has."""
    parts = precision_rollup(view.facts)
    if not any(part.precision != NOT_KNOWN for part in parts):
        return None
    texts: dict[str, Callable[[float], str]] = {
        "layers": lambda value: counted(round(value), "layer"),
        "time": format_ms,
        "MACs": lambda value: f"{format_significant(value / 1e9, 4)} billion MACs",
        "activations": lambda value: format_bytes(round(value)),
        "weights": lambda value: format_bytes(round(value)),
    }
    measures = list(dict.fromkeys(part.measure for part in parts))
    measure = "time" if "time" in measures else "layers"
    first = next(part for part in parts if part.measure == measure)
    most = f"{first.precision} has {format_significant(first.share_pct)} % of the {measure}"
    rows: list[Spec] = [
        {
            "row": f"{measures.index(part.measure)}",
            "label": part.measure,
            "group": part.precision,
            "value": part.share_pct,
            "amount": texts[part.measure](part.value),
        }
        for part in parts
    ]
    return bar_chart(
        rows,
        "share, %",
        {"label": "of", "group": "precision", "value": "share, %#", "amount": "amount"},
        group_color("precision", [part.precision for part in parts], precision_color),
        key="precision-rollup",
        title=f"Precisions: {most}",
        subtitle=("Of the layers' first inputs; each bar is all of what is known",),
        is_whole=True,
    )
