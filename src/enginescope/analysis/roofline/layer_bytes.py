"""Bytes that each layer of a plan reads and writes: activations, weights, biases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.layers.reformats import TensorRoles, is_whole_part, tensor_roles
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, Plan


class LayerBytes(Record, frozen=True, kw_only=True, gc=False):
    """Bytes that one layer reads and writes in an iteration, without padding.

    A part is ``None`` if the size of anything in it is unknown, and 0 if it is empty. Inert layers
    launch nothing, so they read and write nothing: a constant counts with the layer that reads it.

    Attributes:
        activation_bytes: Inputs that are no constants, and outputs. An input that a no-op passes on
            counts at the size that goes into the no-op. Not known of a layer that launches work and
            has no tensors in the file.
        weights_bytes: Kernels it carries, and constants among its inputs at their size in the
            engine. Unknown for a layer that stands for a whole part of the network.
        bias_bytes: Biases it carries.
    """

    activation_bytes: int | None
    weights_bytes: int | None
    bias_bytes: int | None

    @property
    def footprint_bytes(self) -> int | None:
        """Activations and weights, without biases."""
        activations, weights = self.activation_bytes, self.weights_bytes
        return None if activations is None or weights is None else activations + weights

    @property
    def moved_bytes(self) -> int | None:
        """Everything: the least that crosses the memory's bus if no cache holds any of it."""
        return add_known(self.activation_bytes, self.weights_bytes, self.bias_bytes)


_NOTHING_KNOWN = LayerBytes(activation_bytes=None, weights_bytes=None, bias_bytes=None)
_NOTHING_MOVED = LayerBytes(activation_bytes=0, weights_bytes=0, bias_bytes=0)


def layer_bytes(plan: Plan, roles: TensorRoles | None = None) -> tuple[LayerBytes, ...]:
    """Return the bytes of every layer of `plan`, inert ones included, in the plan's order.

    A tensor is a constant if a ``Constant`` layer writes it, or if none does and the caller does
    not provide it. Where the plan does not say what the caller provides, only the former is known.

    Args:
        roles: Of its tensors, where they are known already.
    """
    return tuple(each_layer_bytes(plan, roles))


def each_layer_bytes(plan: Plan, roles: TensorRoles | None = None) -> Iterator[LayerBytes]:
    """Yield what `layer_bytes` returns, for who looks at a layer and at its bytes together."""
    if plan.source_schema == "names-only":
        yield from (_NOTHING_KNOWN,) * len(plan.layers)
        return
    roles = roles or tensor_roles(plan)
    for layer in plan.layers:
        yield _of_layer(layer, roles)


def add_known(*parts: int | None) -> int | None:
    """Return the sum of `parts`, or ``None`` if any of them is not known."""
    return _added(parts)


def _added(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(parts)  # type: ignore[arg-type]


def _of_layer(layer: Layer, roles: TensorRoles) -> LayerBytes:
    if layer.is_inert:
        return _NOTHING_MOVED
    activations: list[int | None] = [tensor.nbytes for tensor in layer.outputs]
    weights: list[int | None] = [None] if is_whole_part(layer) else []
    biases: list[int | None] = []
    for tensor in map(roles.source, layer.inputs) if roles.sources else layer.inputs:
        if tensor.name in roles.constants:
            weights.append(roles.constants[tensor.name])
        else:
            activations.append(tensor.nbytes)
    for carried in layer.weights:
        (biases if is_bias(carried.role) else weights).append(carried.nbytes)
    if not (layer.inputs or layer.outputs):
        activations = [None]  # it reads or writes something that the file leaves out
    return LayerBytes(
        activation_bytes=_added(activations),
        weights_bytes=_added(weights) if weights else 0,
        bias_bytes=_added(biases) if biases else 0,
    )


def is_bias(role: str) -> bool:
    """Whether weights in this field are a bias."""
    return role.lower().endswith("bias")
