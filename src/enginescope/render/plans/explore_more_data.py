"""What is asked for beside a plan, as parts of the JSON document."""

from __future__ import annotations

from typing import Any

import msgspec

from enginescope.analysis.build_log.build_choices import choices
from enginescope.analysis.build_log.build_log_summary import tuning_costs, tuning_total_s
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import WORST
from enginescope.records.plan.build_trace import BuildTrace


def roofline_data(view: PlanView) -> dict[str, Any] | None:
    """Return every working layer's limits, those that lose most first; ``None`` without a GPU."""
    found = view.roofline
    if found is None:
        return None
    layers = sorted(found.layers, key=lambda one: -(one.excess_ms or 0.0))
    return {
        "gpu": found.gpu,
        "saving_ms": found.saving_ms(),
        "saving_layers": len(found.worst(WORST)),
        "unknown": found.unknown,
        "layers": [
            {
                **_layer(view, layer.position),
                **{name: getattr(layer, name) for name in _LIMITS},
            }
            for layer in layers
        ],
    }


_LIMITS = (
    *("mean_ms", "attainable_ms", "distance", "excess_ms", "bound"),
    *("memory_ms", "compute_ms", "is_partial"),
)


def onnx_data(view: PlanView) -> dict[str, Any] | None:
    """Return what each node costs, the dearest first, and what is left over on either side."""
    links, graph = view.onnx_map, view.onnx
    if links is None or graph is None:
        return None
    costs = sorted(links.costs, key=lambda one: -(one.mean_ms or 0.0))
    evidence = {link.position: link.evidence for link in links.links}
    return {
        "model": graph.name,
        "nodes": [
            {
                "node": cost.node,
                "name": graph.nodes[cost.node].name,
                "op_type": graph.nodes[cost.node].op_type,
                "mean_ms": cost.mean_ms,
                "is_shared": cost.is_shared,
                "layers": [{**_layer(view, at), "evidence": evidence[at]} for at in cost.positions],
            }
            for cost in costs
        ],
        "unmatched_layers": [_layer(view, at) for at in links.unmatched_layers],
        "unmatched_nodes": [graph.nodes[at].name for at in links.unmatched_nodes],
        "unknown_names": links.unknown_names,
    }


def build_data(story: BuildTrace) -> dict[str, Any]:
    """Return the story of a build as it was read, with each layer's choice and what tuning cost."""
    made = [
        {**msgspec.structs.asdict(choice), "layer": choice.layer.name} for choice in choices(story)
    ]
    return {
        **msgspec.structs.asdict(story),
        "choices": made,
        "tuning_costs": tuning_costs(story),
        "tuning_total_s": tuning_total_s(story),
    }


def _layer(view: PlanView, position: int) -> dict[str, Any]:
    layer = view.plan.layers[position]
    return {"index": layer.index, "name": layer.name}
