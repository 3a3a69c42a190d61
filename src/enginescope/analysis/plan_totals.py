"""Counts and bytes of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from enginescope.core.record import Record
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import Tensor


class PlanTotals(Record, frozen=True, kw_only=True):
    """What a plan holds, added up.

    Attributes
    ----------
    layers, active_layers : int
        All, and those that do work.
    by_type, by_precision : dict of str to int
        Active layers; ``"unknown"`` where the plan does not say.
    weights_bytes : int
        Kernels and the like, and constant tensors that layers read (TensorRT 10's ``gemm`` and
        ``kgen`` have their weights there). Biases are left out, as trex leaves them out.
    activation_bytes : int
        Inputs and outputs of every active layer, a tensor counted at each use; no padding.
    padded_activation_bytes : int
        The same with the padding of vectorised layouts.
    unsized : int
        Tensors and weights whose size is not known, left out of the sums.
    """

    layers: int
    active_layers: int
    by_type: dict[str, int]
    by_precision: dict[str, int]
    weights_bytes: int
    activation_bytes: int
    padded_activation_bytes: int
    unsized: int


def plan_totals(plan: Plan) -> PlanTotals:
    """Return the totals of `plan`.

    No-ops are folded: who reads a no-op's output reads what the no-op read, and who writes what a
    no-op passes on to an engine output writes that output.
    """
    active = plan.active_layers
    constants = _constant_names(plan)
    uses = [tensor for tensor in _uses(plan, active) if tensor.name not in constants]
    carried = [one for layer in active for one in layer.weights if not one.role.endswith("Bias")]
    read = {t.name: t for layer in active for t in layer.inputs if t.name in constants}
    weights = [*(one.nbytes for one in carried), *(one.nbytes for one in read.values())]
    sizes = [one.nbytes for one in uses]
    return PlanTotals(
        layers=len(plan.layers),
        active_layers=len(active),
        by_type=dict(Counter(layer.type for layer in active).most_common()),
        by_precision=dict(Counter(_precision(layer) for layer in active).most_common()),
        weights_bytes=_sum(weights),
        activation_bytes=_sum(sizes),
        padded_activation_bytes=_sum(one.padded_nbytes for one in uses),
        unsized=sum(one is None for one in (*weights, *sizes)),
    )


def _constant_names(plan: Plan) -> frozenset[str]:
    """Return the tensors that layers read and no working layer nor the caller writes."""
    working = [layer for layer in plan.layers if layer.type != "Constant"]
    written = {tensor.name for layer in working for tensor in layer.outputs}
    given = {one.tensor.name for one in plan.inputs}
    read = {tensor.name for layer in working for tensor in layer.inputs}
    return frozenset(read - written - given)


def _uses(plan: Plan, active: tuple[Layer, ...]) -> Iterator[Tensor]:
    """Yield every tensor an active layer reads or writes, no-ops folded."""
    no_ops = [layer for layer in plan.layers if layer.type == "NoOp"]
    source = {layer.outputs[0].name: layer.inputs[0] for layer in no_ops if _passes(layer)}
    outputs = {one.tensor.name for one in plan.outputs}
    renamed = {
        layer.inputs[0].name: layer.outputs[0]
        for layer in no_ops
        if _passes(layer) and layer.outputs[0].name in outputs
    }
    for layer in active:
        for tensor in layer.inputs:
            yield _origin(tensor, source)
        for tensor in layer.outputs:
            yield renamed.get(tensor.name, tensor)


def _passes(layer: Layer) -> bool:
    return bool(layer.inputs and layer.outputs)


def _origin(tensor: Tensor, source: dict[str, Tensor]) -> Tensor:
    seen: set[str] = set()
    while tensor.name in source and tensor.name not in seen:
        seen.add(tensor.name)
        tensor = source[tensor.name]
    return tensor


def _precision(layer: Layer) -> str:
    return layer.precision.value if layer.precision else "unknown"


def _sum(sizes: Iterable[int | None]) -> int:
    return sum(size for size in sizes if size is not None)
