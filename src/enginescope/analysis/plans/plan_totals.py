"""Counts and bytes of a plan as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from enginescope.analysis.layers.opaque_layers import is_whole_part
from enginescope.analysis.layers.tensor_roles import TensorRoles, tensor_roles
from enginescope.analysis.roofline.layer_bytes import is_bias
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan
from enginescope.records.tensor import Tensor


class PlanTotals(Record, frozen=True, kw_only=True):
    """What a plan adds up to.

    Attributes:
        layers: All of them.
        active_layers: Those that launch work.
        layers_by_type, layers_by_precision: Of the active ones; precision is the type of the first
            input.
        weights_bytes: Kernels and the constants that active layers read, also those that Myelin
            lists among a layer's inputs, each tensor once, at its size in the engine. It equals the
            sum over the layers unless several layers read one constant. ``None`` if no size is
            known.
        bias_bytes: Apart, as trex leaves them out of its weights.
        activation_bytes: Inputs and outputs of the active layers, counted at each use, without
            padding: what moves if nothing is cached. Where a layer reads what a no-op passes on, it
            reads the no-op's input. ``None`` if the size of none is known.
        padded_activation_bytes: The same with the padding of vectorised layouts.
        whole_parts: Active layers that stand for a whole part of the network: what is inside them,
            weights and tensors, is in none of the sums.
        unknown_tensors: Uses of tensors and weights whose size is not known, and is missing from
            the sums.
    """

    layers: int
    active_layers: int
    layers_by_type: dict[str, int]
    layers_by_precision: dict[str, int]
    weights_bytes: int | None
    bias_bytes: int | None
    activation_bytes: int | None
    padded_activation_bytes: int | None
    whole_parts: int
    unknown_tensors: int


def plan_totals(plan: Plan, roles: TensorRoles | None = None) -> PlanTotals:
    """Return the counts and bytes of `plan`.

    A tensor that only layers read, that none writes and that is no input of the engine is a
    constant; so is what a ``Constant`` layer writes. Constants count as weights, not as
    activations.

    Args:
        roles: Of its tensors, where they are known already.
    """
    roles = roles or tensor_roles(plan)
    active, constants = roles.active, roles.constants
    inputs = [roles.source(tensor) for layer in active for tensor in layer.inputs]
    used = [tensor for tensor in inputs if tensor.name not in constants]
    used += [tensor for layer in active for tensor in layer.outputs]
    carried = [
        (is_bias(weight.role), weight.nbytes) for layer in active for weight in layer.weights
    ]
    kernels = [nbytes for of_bias, nbytes in carried if not of_bias]
    kernels += [constants[name] for name in {one.name for one in inputs} & constants.keys()]
    biases = [nbytes for of_bias, nbytes in carried if of_bias]
    activations = [tensor.nbytes for tensor in used]
    return PlanTotals(
        layers=len(plan.layers),
        active_layers=len(active),
        layers_by_type=_count(active, lambda layer: layer.type),
        layers_by_precision=_count(active, _precision),
        weights_bytes=_sum(kernels),
        bias_bytes=_sum(biases),
        activation_bytes=_sum(activations),
        padded_activation_bytes=_sum(list(map(_padded, used, activations))),
        whole_parts=sum(map(is_whole_part, active)),
        unknown_tensors=sum(size is None for size in (*kernels, *biases, *activations)),
    )


def _padded(tensor: Tensor, nbytes: int | None) -> int | None:
    """Return bytes with padding: those without, unless the layout is vectorised."""
    layout = tensor.layout
    return nbytes if layout is None or layout.vector_width is None else tensor.padded_nbytes


def _precision(layer: Layer) -> str:
    return layer.precision._name_ if layer.precision else "unknown"


def _count(layers: Iterable[Layer], key: Callable[[Layer], str]) -> dict[str, int]:
    return dict(Counter(key(layer) for layer in layers).most_common())


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None
