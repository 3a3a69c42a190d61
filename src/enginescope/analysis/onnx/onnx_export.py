"""Times of ONNX nodes for viewers of ONNX models: Netron and Google's Model Explorer.

Whether a model is the one that a plan was built from.
"""

from __future__ import annotations

from typing import Any

from enginescope.analysis.onnx.onnx_map import NodeCost, OnnxMap
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.judge.notice import Notice
from enginescope.records.plan.plan import Plan

#: Viridis, dark to bright, as `render` uses it for amounts.
_VIRIDIS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
#: As Model Explorer takes it.
GRADIENT = [
    {"stop": at / 4, "bgColor": color, "textColor": "black" if at > 2 else "white"}
    for at, color in enumerate(_VIRIDIS)
]


def node_notes(links: OnnxMap, plan: Plan) -> dict[int, dict[str, str]]:
    """Return notes for `annotated_onnx`: what each node costs, and in which layers.

    Keys
    ----
    enginescope.time_ms
        Milliseconds per iteration; missing where no layer of the node has a time.
    enginescope.share_pct
        Of the time of all nodes, 0…100.
    enginescope.shared
        ``true`` where its layer holds other nodes too, and the time is its estimated part.
    enginescope.layers
        Names of the layers that hold it, a line each.
    """
    whole_ms = sum(cost.time_ms or 0.0 for cost in links.costs)
    return {cost.node: _note(cost, plan, whole_ms) for cost in links.costs}


def model_explorer_data(links: OnnxMap, graph: OnnxGraph) -> dict[str, Any]:
    """Return Model Explorer's custom node data: milliseconds by node, of the model's own graph.

    A node is known there by its name, or by its first output if it has none. Nodes in branches
    and bodies are left out, since the graphs these stand in have no names.
    """
    results = {}
    for cost in links.costs:
        node = graph.nodes[cost.node]
        if cost.time_ms is not None and node.depth == 0 and (node.own_name or node.outputs):
            results[node.own_name or node.outputs[0]] = {"value": cost.time_ms}
    return {graph.name: {"results": results, "gradient": GRADIENT}}


def _note(cost: NodeCost, plan: Plan, whole_ms: float) -> dict[str, str]:
    note = {
        "enginescope.layers": "\n".join(plan.layers[position].name for position in cost.positions),
        "enginescope.shared": "true" if cost.is_shared else "false",
    }
    if cost.time_ms is not None:
        note["enginescope.time_ms"] = f"{cost.time_ms:.6g}"
        if whole_ms:
            note["enginescope.share_pct"] = f"{100 * cost.time_ms / whole_ms:.3g}"
    return note


#: Below this share of linked layers, none of them by a name, a model is taken for another one: the
#: first input and the last output have the same names in many.
_FEW = 0.1
_SHOWN = 5
_HINT = "the nodes' costs are wrong if it is; give the model that this engine was built from"


def onnx_match_notice(plan: Plan, links: OnnxMap, model: str) -> Notice | None:
    """Return a warning if `plan` was probably built from another model; else ``None``.

    Args:
        links: Of that plan.
        model: The model's file, for the message.
    """
    working = sum(not layer.is_inert for layer in plan.layers)
    named = {name for layer in plan.layers for name in layer.onnx_nodes}
    unknown = len(links.unknown_names)
    evidence = {
        "layers": working,
        "linked": len(links.links),
        "names": len(named),
        "unknown_names": list(links.unknown_names[:_SHOWN]),
    }
    if not links.links:
        return Notice(
            code="W-ONNX-NO-MATCH",
            message=f"0 of {working:,} layers of {plan.name} were made from nodes of {model}: it "
            "is another model, or one whose nodes were renamed since",
            evidence=evidence,
        )
    if 2 * unknown > len(named):
        why = (
            f"{unknown:,} of the {len(named):,} nodes that the plan names are not in it, and "
            f"{len(links.links):,} of {working:,} layers fit it"
        )
    elif _is_thin(links, working):
        why = f"only {len(links.links):,} of {working:,} layers fit it, none by a name"
    else:
        return None
    return Notice(
        code="W-ONNX-FEW-MATCH",
        message=f"{model} may be another model than {plan.name} was built from: {why}; {_HINT}",
        evidence=evidence,
    )


def _is_thin(links: OnnxMap, working: int) -> bool:
    by_name = any(link.evidence != "tensors" for link in links.links)
    return not by_name and len(links.links) < _FEW * working
