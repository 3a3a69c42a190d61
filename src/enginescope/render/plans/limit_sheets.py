"""Layers against their GPU's limits, and what the model's nodes cost, as sheets of a workbook."""

from __future__ import annotations

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.render.plans.workbook import MS, WHOLE, Sheet, SheetColumn


def roofline_sheet(view: PlanView) -> Sheet | None:
    """Return every working layer's limits, those that lose most first; ``None`` without a GPU."""
    found = view.roofline
    if found is None:
        return None
    rows = tuple(
        (
            view.plan.layers[layer.position].index,
            view.plan.layers[layer.position].name,
            layer.mean_ms,
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
        SheetColumn(header="mean, ms", number_format=MS),
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
    """Return what each node of the model costs, the dearest first; ``None`` without a model."""
    links, graph = view.onnx_map, view.onnx
    if links is None or graph is None:
        return None
    layers = view.plan.layers
    rows = tuple(
        (
            graph.nodes[cost.node].name,
            graph.nodes[cost.node].op_type,
            cost.mean_ms,
            cost.is_shared,
            "\n".join(layers[at].name for at in cost.positions),
        )
        for cost in sorted(links.costs, key=lambda one: -(one.mean_ms or 0.0))
    )
    columns = (
        SheetColumn(header="node"),
        SheetColumn(header="operator"),
        SheetColumn(header="mean, ms", number_format=MS),
        SheetColumn(header="a part of the layers' time"),
        SheetColumn(header="layers"),
    )
    return Sheet(title="ONNX nodes", columns=columns, rows=rows, fixed_columns=1)
