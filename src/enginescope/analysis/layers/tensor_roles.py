"""Which tensors of a plan are constants, and what no-ops pass on."""

from __future__ import annotations

from enginescope.analysis.layers.no_op_chains import no_op_sources
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor


class TensorRoles(Record, frozen=True, kw_only=True):
    """Roles of a plan's tensors, computed once for all byte counts.

    Attributes:
        active: Layers that do work.
        constants: Bytes by tensor name: outputs of ``Constant`` layers. Where the plan lists the
            engine's inputs, also tensors that an active layer reads and that neither a layer nor
            the caller provides. The size is that in the engine. A plan of TensorRT 8.6 also lists
            the weights of a ``Constant`` layer in the type of the build; that size is used where
            the other is unknown.
        sources: For each output of a no-op, what goes into the first of its chain.
    """

    active: tuple[Layer, ...]
    constants: dict[str, int | None]
    sources: dict[str, Tensor]

    def source(self, tensor: Tensor) -> Tensor:
        """Return the tensor that a reader of `tensor` reads: no-ops pass their input on."""
        return self.sources.get(tensor.name, tensor)


def tensor_roles(plan: Plan) -> TensorRoles:
    """Return what the tensors of `plan` are."""
    active = plan.active_layers
    return TensorRoles(
        active=active, constants=_constants(plan, active), sources=no_op_sources(plan)
    )


def _constants(plan: Plan, active: tuple[Layer, ...]) -> dict[str, int | None]:
    constants: dict[str, int | None] = {}
    for layer in plan.layers:
        if layer.type == "Constant":
            for tensor in layer.outputs:
                stored = layer.weights[0].nbytes if layer.weights else None
                constants[tensor.name] = stored if tensor.nbytes is None else tensor.nbytes
    if not plan.io:
        return constants
    computed = {tensor.name for layer in plan.layers for tensor in layer.outputs}
    computed.update(one.tensor.name for one in plan.inputs)
    for layer in active:
        for tensor in layer.inputs:
            if tensor.name not in computed:
                constants.setdefault(tensor.name, tensor.nbytes)
    return constants
