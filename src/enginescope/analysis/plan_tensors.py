"""Which layers write and read each tensor of a plan."""

from __future__ import annotations

from enginescope.core.record import Record
from enginescope.model.plan import Plan
from enginescope.model.tensor import Tensor


class PlanTensor(Record, frozen=True, kw_only=True):
    """A tensor of a plan, by its name.

    Attributes
    ----------
    tensor : Tensor
        As the first layer that touches it has it; others may give it another shape or layout.
    written_by, read_by : tuple of int
        Positions in the plan's layers, each once. Several writers: concatenated, or the memory is
        used again.
    """

    tensor: Tensor
    written_by: tuple[int, ...]
    read_by: tuple[int, ...]


def plan_tensors(plan: Plan) -> tuple[PlanTensor, ...]:
    """Return the tensors of a plan in the order they first appear, those of no layer last."""
    first: dict[str, Tensor] = {}
    written: dict[str, dict[int, None]] = {}
    read: dict[str, dict[int, None]] = {}
    for position, layer in enumerate(plan.layers):
        for side, tensors in ((read, layer.inputs), (written, layer.outputs)):
            for one in tensors:
                first.setdefault(one.name, one)
                side.setdefault(one.name, {})[position] = None
    for io in plan.io:
        first.setdefault(io.tensor.name, io.tensor)
    return tuple(
        PlanTensor(
            tensor=tensor,
            written_by=tuple(written.get(name, ())),
            read_by=tuple(read.get(name, ())),
        )
        for name, tensor in first.items()
    )
