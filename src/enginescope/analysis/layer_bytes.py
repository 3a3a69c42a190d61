"""Bytes that each layer of a plan reads and writes: activations, weights, biases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from enginescope.analysis.no_op_chains import no_op_sources
from enginescope.core.record import Record
from enginescope.model.plan import Layer, Plan
from enginescope.model.tensor import Tensor


class LayerBytes(Record, frozen=True, kw_only=True, gc=False):
    """What one layer reads and writes once, without padding.

    A part is ``None`` if the size of anything in it is not known, and 0 if there is nothing in it.

    Attributes
    ----------
    activation_bytes : int or None
        Inputs that are no constants, and outputs. An input that a no-op passes on counts at the
        size that goes into the no-op.
    weights_bytes : int or None
        Kernels it carries, and constants among its inputs.
    bias_bytes : int or None
        Biases it carries.
    """

    activation_bytes: int | None
    weights_bytes: int | None
    bias_bytes: int | None

    @property
    def footprint_bytes(self) -> int | None:
        """Activations and weights, without biases."""
        return add_known(self.activation_bytes, self.weights_bytes)

    @property
    def moved_bytes(self) -> int | None:
        """Everything: the least that crosses the memory's bus if no cache holds any of it."""
        return add_known(self.activation_bytes, self.weights_bytes, self.bias_bytes)


_NOTHING_KNOWN = LayerBytes(activation_bytes=None, weights_bytes=None, bias_bytes=None)


def layer_bytes(plan: Plan) -> tuple[LayerBytes, ...]:
    """Return the bytes of every layer of `plan`, inert ones included, in the plan's order.

    A tensor is a constant if a ``Constant`` layer writes it, or if none does and the caller does
    not provide it. Where the plan does not say what the caller provides, only the former is known.
    """
    constants = constant_names(plan)
    sources = no_op_sources(plan)
    bare = plan.source_schema == "names-only"
    return tuple(
        _NOTHING_KNOWN if bare else _of_layer(layer, constants, sources) for layer in plan.layers
    )


def add_known(*parts: int | None) -> int | None:
    """Return the sum of `parts`, or ``None`` if any of them is not known."""
    return None if None in parts else sum(cast("tuple[int, ...]", parts))


def _of_layer(layer: Layer, constants: frozenset[str], sources: dict[str, Tensor]) -> LayerBytes:
    activations = [one.nbytes for one in layer.outputs]
    weights: list[int | None] = []
    biases: list[int | None] = []
    for one in layer.inputs:
        if one.name in constants:
            weights.append(one.nbytes)
        else:
            activations.append(sources.get(one.name, one).nbytes)
    for carried in layer.weights:
        (biases if is_bias(carried.role) else weights).append(carried.nbytes)
    return LayerBytes(
        activation_bytes=add_known(*activations),
        weights_bytes=add_known(*weights),
        bias_bytes=add_known(*biases),
    )


def is_bias(role: str) -> bool:
    """Whether weights in this field are a bias."""
    return role.lower().endswith("bias")


def constant_names(plan: Plan) -> frozenset[str]:
    """Return the names of tensors that no layer computes and the caller does not provide."""
    from_layers = _names(
        one for layer in plan.layers if layer.type == "Constant" for one in layer.outputs
    )
    if not plan.io:
        return frozenset(from_layers)
    made = _names(one for layer in plan.layers for one in layer.outputs)
    given = _names(one.tensor for one in plan.inputs)
    read = _names(one for layer in plan.active_layers for one in layer.inputs)
    return frozenset(from_layers | (read - made - given))


def _names(tensors: Iterable[Tensor]) -> set[str]:
    return {one.name for one in tensors}
