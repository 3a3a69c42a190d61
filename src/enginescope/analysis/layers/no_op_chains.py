"""No-ops launch nothing: whoever reads what one writes reads what went into it."""

from __future__ import annotations

from collections import Counter

from enginescope.records.plan.plan import Plan
from enginescope.records.tensor import Tensor


def no_op_sources(plan: Plan) -> dict[str, Tensor]:
    """Return, for each output of a no-op, the tensor that goes into the first of its chain.

    A name that is written again stands for something else from there on: it is left out.
    """
    direct: dict[str, Tensor] = {}
    for layer in plan.layers:
        if "NoOp" in (layer.type, layer.subtype) and layer.inputs:
            direct.update((tensor.name, layer.inputs[0]) for tensor in layer.outputs)
    if not direct:
        return {}
    writers = Counter(
        tensor.name for layer in plan.layers for tensor in layer.outputs if tensor.name in direct
    )
    direct = {name: source for name, source in direct.items() if writers[name] == 1}
    return {name: _first_in_chain(name, direct) for name in direct}


def _first_in_chain(name: str, direct: dict[str, Tensor]) -> Tensor:
    seen = {name}
    source = direct[name]
    while source.name in direct and source.name not in seen:
        seen.add(source.name)
        source = direct[source.name]
    return source
