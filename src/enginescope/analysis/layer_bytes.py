"""Bytes that each layer of a plan reads and writes: activations, weights, biases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.tensor_roles import TensorRoles, tensor_roles
from enginescope.analysis.whole_parts import is_whole_part
from enginescope.core.record import Record
from enginescope.model.plan import Layer, Plan


class LayerBytes(Record, frozen=True, kw_only=True, gc=False):
    """What one layer reads and writes once, without padding.

    A part is ``None`` if the size of anything in it is not known, and 0 if there is nothing in it.

    Attributes
    ----------
    activation_bytes : int or None
        Inputs that are no constants, and outputs. An input that a no-op passes on counts at the
        size that goes into the no-op. Not known of a layer that launches work and has no tensors
        in the file.
    weights_bytes : int or None
        Kernels it carries, and constants among its inputs. Not known of a layer that stands for a
        whole part of the network.
    bias_bytes : int or None
        Biases it carries.
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


def layer_bytes(plan: Plan, roles: TensorRoles | None = None) -> tuple[LayerBytes, ...]:
    """Return the bytes of every layer of `plan`, inert ones included, in the plan's order.

    A tensor is a constant if a ``Constant`` layer writes it, or if none does and the caller does
    not provide it. Where the plan does not say what the caller provides, only the former is known.

    Parameters
    ----------
    plan : Plan
    roles : TensorRoles, optional
        Of its tensors, where they are known already.
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
    constants, sources = roles.constants, roles.sources
    activations: list[int | None] = [one.nbytes for one in layer.outputs]
    weights: list[int | None] = [None] if is_whole_part(layer) else []
    biases: list[int | None] = []
    for one in layer.inputs:
        if one.name in constants:
            weights.append(one.nbytes)
        else:
            source = sources.get(one.name, one) if sources else one
            activations.append(source.nbytes)
    for carried in layer.weights:
        (biases if is_bias(carried.role) else weights).append(carried.nbytes)
    if not (layer.inputs or layer.outputs or layer.is_inert):
        activations = [None]  # it reads or writes something that the file leaves out
    return LayerBytes(
        activation_bytes=_added(activations),
        weights_bytes=_added(weights) if weights else 0,
        bias_bytes=_added(biases) if biases else 0,
    )


def is_bias(role: str) -> bool:
    """Whether weights in this field are a bias."""
    return role.lower().endswith("bias")
