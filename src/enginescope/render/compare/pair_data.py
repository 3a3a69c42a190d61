"""Pairs of layers as the page's scripts read them: a list by columns, and the two graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from enginescope.analysis.graph.plan_graph import PlanGraph, plan_graph
from enginescope.analysis.layers.layer_table import attribute
from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.analysis.plan_comparison.layer_changes import ComparedLayers, LayersSide
from enginescope.analysis.plan_comparison.layer_comparison import LayerComparison
from enginescope.analysis.plan_comparison.plan_summary import ComparedPlan
from enginescope.analysis.plan_comparison.plans_overview import layer_columns
from enginescope.core.gc_paused import gc_paused
from enginescope.render.base.data_table import column
from enginescope.render.graph.node_labels import Times, times_of
from enginescope.render.graph.view.canvas import canvas, container, packed
from enginescope.render.plan_comparison.compare_phrases import (
    cause_text,
    changes_text,
    evidence_text,
)
from enginescope.render.plan_comparison.compare_tables import Chosen
from enginescope.render.plan_comparison.difference import steps_of

_NUMBERS = ("score", "difference_ms", "share_pct", "speedup", "a_ms", "b_ms", "is_shown", "step")


def pairs_data(found: Comparison | None, chosen: Chosen) -> dict[str, Any]:
    """Return every pair and every step of the waterfall; nothing unless two plans are compared."""
    if found is None or found.layers is None:
        return {}
    steps = steps_of(found.layers)
    pairs = {
        "length": len(found.layers.layers),
        "threshold_pct": chosen.threshold_pct,
        "only": chosen.only,
        "columns": pair_columns(found.layers, chosen),
        "steps": [[step.text, step.difference_ms] for step in steps],
    }
    return {"pairs": pairs}


def pair_columns(layers: LayerComparison, chosen: Chosen) -> dict[str, Any]:
    """Return every pair for the page's list, by columns; repeated texts are written once."""
    reasons = {
        at: cause_text(explanation)
        for explanation in layers.explanations
        for at in explanation.members
    }
    steps = {at: number for number, step in enumerate(steps_of(layers)) for at in step.members}
    place = {id(one): at for at, one in enumerate(layers.layers)}
    rows = layers.in_order()
    order = [place[id(row)] for row in rows]
    columns = layer_columns(rows)
    columns["reason"] = [reasons[at] for at in order]
    columns["step"] = [steps[at] for at in order]
    columns["differs"] = [changes_text(row) for row in rows]
    columns["why"] = [evidence_text(row) if row.evidence else None for row in rows]
    columns["is_shown"] = [int(chosen.is_shown(row)) for row in rows]
    return {
        name: column(name, values, 0 if name in _NUMBERS else None).packed()
        for name, values in columns.items()
    }


def graphs_data(found: Comparison) -> tuple[Markup, ...]:
    """Return the graphs of two plans as the page carries them; none if one of them is empty."""
    layers = found.layers
    if layers is None:
        return ()
    rows = layers.in_order()
    most_ms = max((abs(row.difference_ms or 0.0) for row in rows), default=0.0)
    with gc_paused():
        graphs = [plan_graph(plan.plan) for plan in found.plans]
        if not all(graph.nodes for graph in graphs):
            return ()
        sides = ([row.a for row in rows], [row.b for row in rows])
        return tuple(
            _graph(plan, graph, _changes(graph, rows, side), most_ms)
            for plan, graph, side in zip(found.plans, graphs, sides, strict=True)
        )


def _graph(plan: ComparedPlan, graph: PlanGraph, changes: dict[str, Any], most_ms: float) -> Markup:
    profile = plan.view.run.profile
    times = times_of(attribute(plan.plan, profile) if profile else None)
    made = canvas(graph, times or Times(time_ms={}, sum_ms=0.0), {})
    whole = {**made.data, **changes, "label": plan.label, "mostChange": most_ms}
    return Markup(container(whole))  # noqa: S704 - base64


def _changes(
    graph: PlanGraph, rows: Sequence[ComparedLayers], side: Sequence[LayersSide | None]
) -> dict[str, Any]:
    """Return for each node the row of its pair, what the pair adds, and whether it has no other."""
    row_of = {index: at for at, one in enumerate(side) if one for index in one.layers}
    found = [row_of.get(node.layer.index, -1) if node.layer else -1 for node in graph.nodes]
    differences = [rows[at].difference_ms if at >= 0 else None for at in found]
    alone = [at >= 0 and (rows[at].a is None or rows[at].b is None) for at in found]
    return {
        "pairs": packed("i4", found),
        "change": packed("f4", differences),
        "isAlone": packed("u1", alone),
    }
