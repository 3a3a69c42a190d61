"""Whether a model is the one that a plan was built from."""

from __future__ import annotations

from enginescope.analysis.onnx.onnx_map import OnnxMap
from enginescope.records.notice import Notice
from enginescope.records.plan.plan import Plan

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
