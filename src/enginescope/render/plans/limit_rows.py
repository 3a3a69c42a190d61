"""Layers against their GPU's limits, and what the model's nodes cost: terminal and workbook."""

from __future__ import annotations

from enginescope.analysis.onnx.onnx_map import NodeCost, OnnxMap
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.judge.units import counted, format_significant
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import profiler_part
from enginescope.render.base.short_names import column_apart
from enginescope.render.plans.explore_workbook import MS, WHOLE, Sheet, SheetColumn

_UNKNOWN = "—"


def roofline_rows(view: PlanView, *, limit: int, name_width: int) -> TextTable | None:
    """Return the layers that lose most time against their limit; ``None`` without a GPU.

    Args:
        limit: Rows at most.
        name_width: Columns of a layer's name, shortened in its middle.
    """
    found = view.roofline
    if found is None:
        return None
    worst = found.worst(limit)
    rows = (
        (
            _ms(one.time_ms),
            _ms(one.attainable_ms),
            _UNKNOWN if one.distance is None else format_significant(one.distance, 3),
            one.bound or _UNKNOWN,
            view.plan.layers[one.position].name,
        )
        for one in worst
    )
    saved = format_significant(found.saving_ms(len(worst)), 3)
    note = f"at its limit this layer would save {saved} ms"
    if len(worst) != 1:
        note = f"at their limits these {len(worst)} layers would save {saved} ms"
    if found.profiler_ms is not None:
        note += f", {profiler_part(found.profiler_ms)}"
    if found.unknown:
        note += f"; the limit of {counted(found.unknown, 'layer', 'layers')} is not known"
    times = ("ms", "limit ms", "ms ÷ limit")
    return TextTable(
        title=f"Furthest from the limits of {found.gpu.name}",
        headers=(*times, "bound by", "layer"),
        rows=column_apart(rows, -1, name_width),
        numbers=times,
        note=note,
    )


def node_rows(view: PlanView, *, limit: int, name_width: int) -> TextTable | None:
    """Return the ONNX nodes that cost most; ``None`` without a model."""
    found, graph = view.onnx_map, view.onnx
    if found is None or graph is None or not found.costs:
        return None
    known = [cost for cost in found.costs if cost.time_ms is not None]
    ranked = sorted(known, key=lambda one: -(one.time_ms or 0.0))[:limit]
    return TextTable(
        title="ONNX nodes that cost most",
        headers=("ms", "of", "operator", "node"),
        rows=column_apart((_node_row(one, graph) for one in ranked), -1, name_width),
        numbers=("ms",),
        note=_left_over(found),
    )


def _node_row(cost: NodeCost, graph: OnnxGraph) -> tuple[str, ...]:
    node = graph.nodes[cost.node]
    of = "a part" if cost.is_shared else "a layer"
    return (_ms(cost.time_ms), of, node.op_type, node.name)


def _left_over(found: OnnxMap) -> str:
    parts = ["a part: the layer holds other nodes too, and its time is shared out by their work"]
    for some, one, several in (
        (found.unmatched_nodes, "node is in no layer", "nodes are in no layer"),
        (found.unmatched_layers, "layer holds no node", "layers have no node"),
        (
            found.unknown_names,
            "name of the plan is not in the model",
            "names of the plan are not in the model",
        ),
    ):
        if some:
            parts.append(counted(len(some), one, several))
    return "; ".join(parts)


def _ms(value: float | None) -> str:
    return _UNKNOWN if value is None else format_significant(value, 4)


def roofline_sheet(view: PlanView) -> Sheet | None:
    """Return every working layer's limits, those that lose most first; ``None`` without a GPU."""
    found = view.roofline
    if found is None:
        return None
    rows = tuple(
        (
            view.plan.layers[layer.position].index,
            view.plan.layers[layer.position].name,
            layer.time_ms,
            layer.attainable_ms,
            layer.distance,
            layer.excess_ms,
            layer.bound,
            layer.memory_ms,
            layer.compute_ms,
            layer.is_partial,
        )
        for layer in sorted(found.layers, key=lambda one: -(one.excess_ms or 0.0))
    )
    columns = (
        SheetColumn(header="index", number_format=WHOLE),
        SheetColumn(header="name"),
        SheetColumn(header="time, ms", number_format=MS),
        SheetColumn(header=f"limit on {found.gpu.name}, ms", number_format=MS),
        SheetColumn(header="× limit", number_format="0.00"),
        SheetColumn(header="lost, ms", number_format=MS),
        SheetColumn(header="bound by"),
        SheetColumn(header="by memory, ms", number_format=MS),
        SheetColumn(header="by compute, ms", number_format=MS),
        SheetColumn(header="may compute more"),
    )
    return Sheet(title="Limits", columns=columns, rows=rows, fixed_columns=2)


def nodes_sheet(view: PlanView) -> Sheet | None:
    """Return the cost of each ONNX node, the most expensive first; ``None`` without a model."""
    links, graph = view.onnx_map, view.onnx
    if links is None or graph is None:
        return None
    layers = view.plan.layers
    rows = tuple(
        (
            graph.nodes[cost.node].name,
            graph.nodes[cost.node].op_type,
            cost.time_ms,
            cost.is_shared,
            "\n".join(layers[at].name for at in cost.positions),
        )
        for cost in sorted(links.costs, key=lambda one: -(one.time_ms or 0.0))
    )
    columns = (
        SheetColumn(header="node"),
        SheetColumn(header="operator"),
        SheetColumn(header="time, ms", number_format=MS),
        SheetColumn(header="a part of the layers' time"),
        SheetColumn(header="layers"),
    )
    return Sheet(title="ONNX nodes", columns=columns, rows=rows, fixed_columns=1)
