"""Which tensors of a plan are constants, and what no-ops pass on."""

from __future__ import annotations

from enginescope.analysis.no_op_chains import no_op_sources
from enginescope.core.record import Record
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import Tensor


class TensorRoles(Record, frozen=True, kw_only=True):
    """What the tensors of a plan are, found once for all that count their bytes.

    Attributes
    ----------
    active : tuple of Layer
        Layers that do work.
    constants : dict of str to (Tensor or None)
        By name: what a ``Constant`` layer writes; where the plan says what the caller provides,
        also what a layer that does work reads, none writes and the caller does not provide.
        ``None`` where a layer carries the values, so that they count with its weights.
    sources : dict of str to Tensor
        For each output of a no-op, what goes into the first of its chain.
    """

    active: tuple[Layer, ...]
    constants: dict[str, Tensor | None]
    sources: dict[str, Tensor]


def tensor_roles(plan: Plan) -> TensorRoles:
    """Return what the tensors of `plan` are."""
    active = plan.active_layers
    return TensorRoles(
        active=active, constants=_constants(plan, active), sources=no_op_sources(plan)
    )


def _constants(plan: Plan, active: tuple[Layer, ...]) -> dict[str, Tensor | None]:
    found: dict[str, Tensor | None] = {}
    for layer in plan.layers:
        if layer.type == "Constant":
            found.update(
                (tensor.name, None if layer.weights else tensor) for tensor in layer.outputs
            )
    if not plan.io:
        return found
    computed = {tensor.name for layer in plan.layers for tensor in layer.outputs}
    computed.update(one.tensor.name for one in plan.inputs)
    for layer in active:
        for tensor in layer.inputs:
            if tensor.name not in computed:
                found.setdefault(tensor.name, tensor)
    return found
