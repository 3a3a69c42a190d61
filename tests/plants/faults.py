"""Faults that are planted into a model, each at one node."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

#: Changes a model in place; returns the nodes of which one must be named.
Fault = Callable[[Any], tuple[str, ...]]


def _fault(plant: Callable[..., tuple[str, ...]]) -> Callable[..., Fault]:
    """Let a function of a model and options be called with the options alone."""

    @wraps(plant)
    def fault(*options: Any, **named: Any) -> Fault:
        return lambda model: plant(model, *options, **named)

    return fault


def graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph, its branches and its bodies."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def node_of(model: Any, name: str) -> tuple[Any, Any]:
    """Return the graph that holds a node, and the node; ``%Conv:3``: the Conv of index 3."""
    if name.startswith("%"):
        kind, at = name[1:].split(":")
        return model.graph, [one for one in model.graph.node if one.op_type == kind][int(at)]
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.name == name:
                return graph, node
    raise KeyError(name)


def change(model: Any, name: str, by: Callable[[Any], Any]) -> None:
    for graph in graphs(model.graph):
        for one in graph.initializer:
            if one.name == name:
                return _change(one, by)
        for node in graph.node:
            if name in node.output and node.op_type in ("Identity", "Cast"):
                return change(model, node.input[0], by)
            if name in node.output:
                return _change(node.attribute[0].t, by)
    raise KeyError(name)


def _change(tensor: Any, by: Callable[[Any], Any]) -> None:
    values = numpy_helper.to_array(tensor)
    changed = np.ascontiguousarray(np.asarray(by(values), values.dtype))
    tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))


def private(model: Any, node: Any, slot: int) -> str:
    """Give a node a copy of a constant that others read too; return its name."""
    name, fresh = node.input[slot], f"{node.input[slot]}::{node.name}"
    values = constant(model, name)
    graph = next(one for one in graphs(model.graph) if node in one.node)
    graph.initializer.append(numpy_helper.from_array(values, fresh))
    node.input[slot] = fresh
    return fresh


def constant(model: Any, name: str) -> Any:
    found: list[Any] = []
    change(model, name, lambda values: (found.append(values), values)[1])
    return found[0]


def behind(model: Any, name: str, *nodes: tuple[str, str, Any]) -> tuple[str, ...]:
    """Insert nodes behind a node; each is (operator, name, constant or None or a tensor)."""
    graph, node = node_of(model, name)
    source = node.output[0]
    last = node.output[0] = f"{source}::raw"
    at = list(graph.node).index(node) + 1
    for number, (operator, own, other) in enumerate(nodes):
        inputs = [last]
        if isinstance(other, str):
            inputs.append(other)
        elif other is not None:
            graph.initializer.append(
                numpy_helper.from_array(np.asarray(other, np.float32), f"{own}::c")
            )
            inputs.append(f"{own}::c")
        last = source if number == len(nodes) - 1 else f"{own}::out"
        graph.node.insert(at + number, helper.make_node(operator, inputs, [last], name=own))
    return tuple(own for _, own, _ in nodes)


# -- at any precision ---------------------------------------------------------------------------


@_fault
def changed_weight(model: Any, node: str, by: Callable[[Any], Any]) -> tuple[str, ...]:
    reader = node_of(model, node)[1]
    change(model, reader.input[1], by)
    return (reader.name,)


def damaged_weight(node: str) -> Fault:
    """The channels of a weight are in reverse order."""
    return changed_weight(node, lambda values: values[::-1])


def scaled_weight(node: str, factor: float) -> Fault:
    """A weight is larger by a factor."""
    return changed_weight(node, lambda values: values * factor)


@_fault
def wrong_constant(model: Any, node: str, slot: int, value: float) -> tuple[str, ...]:
    """A constant that a node reads is another one."""
    name = private(model, node_of(model, node)[1], slot)
    change(model, name, lambda values: np.full_like(values, value))
    return (node,)


@_fault
def dropped_bias(model: Any, node: str) -> tuple[str, ...]:
    """A node reads no bias."""
    reader = node_of(model, node)[1]
    del reader.input[2]
    return (reader.name,)


def transposed_weight(node: str, *axes: int) -> Fault:
    """Two axes of a weight, of equal length, are swapped."""
    return changed_weight(node, lambda values: values.swapaxes(*axes))


@_fault
def wrong_attribute(model: Any, node: str, attribute: str, value: Any) -> tuple[str, ...]:
    """An attribute of a node has another value."""
    changed = node_of(model, node)[1]
    others = [each for each in changed.attribute if each.name != attribute]
    del changed.attribute[:]
    changed.attribute.extend([*others, helper.make_attribute(attribute, value)])
    return (changed.name,)


@_fault
def replaced(
    model: Any, node: str, operator: str, *, renamed: bool = False, **attributes: Any
) -> tuple[str, ...]:
    """Another operator stands in a node's place.

    Args:
        renamed: The node and its output have other names too, as after another export.
    """
    graph, changed = node_of(model, node)
    changed.op_type = operator
    (version,) = (one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    known = onnx.defs.get_schema(operator, max_inclusive_version=version).attributes
    others = [each for each in changed.attribute if each.name in known]
    del changed.attribute[:]
    changed.attribute.extend(others)
    changed.attribute.extend(helper.make_attribute(*each) for each in attributes.items())
    if renamed:
        old, new = changed.output[0], f"replaced/{changed.output[0]}"
        changed.name, changed.output[0] = f"replaced/{changed.name}", new
        for reader in graph.node:
            reader.input[:] = [new if each == old else each for each in reader.input]
    return (changed.name,)


@_fault
def wrong_input(model: Any, node: str, slot: int, tensor: str) -> tuple[str, ...]:
    """A node reads another tensor of the same shape."""
    node_of(model, node)[1].input[slot] = tensor
    return (node,)


@_fault
def swapped_inputs(model: Any, node: str) -> tuple[str, ...]:
    """The first two inputs of a node are swapped."""
    reader = node_of(model, node)[1]
    reader.input[0], reader.input[1] = reader.input[1], reader.input[0]
    return (node,)


# -- right in FP32, wrong in FP16 ---------------------------------------------------------------


@_fault
def overflowing_weight(model: Any, node: str) -> tuple[str, ...]:
    """A weight goes beyond FP16, and what follows scales the result down again."""
    reader = node_of(model, node)[1]
    weight = reader.input[1]
    factor = 2.0 ** np.ceil(np.log2(4e6 / np.abs(constant(model, weight)).max()))
    change(model, weight, lambda values: values * factor)
    if reader.op_type == "Conv" and len(reader.input) > 2 and reader.input[2]:
        change(model, reader.input[2], lambda values: values * factor)
    behind(model, node, ("Mul", "plant/down", 1 / factor))
    return (reader.name,)


@_fault
def large_variance(model: Any, node: str) -> tuple[str, ...]:
    """A normalization whose variance goes beyond FP16."""
    graph, producer = node_of(model, node)
    channels = len(constant(model, producer.input[1]))
    variance = np.random.default_rng(3).uniform(2e7, 9.8e7, channels).astype(np.float32)
    zeros = np.zeros(channels, np.float32)
    parts = {"scale": np.sqrt(variance), "bias": zeros, "mean": zeros, "variance": variance}
    for part, values in parts.items():
        graph.initializer.append(numpy_helper.from_array(values, f"plant/{part}"))
    source = producer.output[0]
    producer.output[0] = f"{source}::raw"
    at = list(graph.node).index(producer) + 1
    inputs = [f"{source}::raw", *(f"plant/{part}" for part in parts)]
    made = helper.make_node("BatchNormalization", inputs, [source], name="plant/norm")
    graph.node.insert(at, made)
    return ("plant/norm",)


@_fault
def large_activation(model: Any, node: str) -> tuple[str, ...]:
    """Values go beyond FP16 for a while."""
    behind(
        model, node,
        ("Mul", "plant/up", 2.0**15), ("Mul", "plant/up2", 2.0**10),
        ("Abs", "plant/abs", None), ("Mul", "plant/down", 2.0**-15),
        ("Mul", "plant/down2", 2.0**-10),
    )  # fmt: skip
    return ("plant/up", "plant/up2")


@_fault
def small_denominator(model: Any, node: str) -> tuple[str, ...]:
    """A denominator is smaller than FP16 can hold."""
    behind(
        model, node,
        ("Mul", "plant/small", 2.0**-10), ("Mul", "plant/small2", 1e-3),
        ("Div", "plant/divide", 1e-9), ("Mul", "plant/back", 2.0**10 * 1e-6),
    )  # fmt: skip
    return ("plant/divide",)


@_fault
def lost_variance(model: Any, node: str) -> tuple[str, ...]:
    """Squares are smaller than FP16 can hold, and their root is divided by."""
    behind(
        model, node,
        ("Mul", "plant/small", 2.0**-14), ("Mul", "plant/square", "plant/small::out"),
        ("ReduceMean", "plant/mean", None), ("Sqrt", "plant/root", None),
        ("Div", "plant/normal", "plant/small::out"),
    )  # fmt: skip
    _, mean = node_of(model, "plant/mean")
    mean.attribute.append(helper.make_attribute("keepdims", 1))
    _, divide = node_of(model, "plant/normal")
    divide.input[0], divide.input[1] = divide.input[1], divide.input[0]
    return ("plant/square",)


@_fault
def with_small_variance(model: Any, node: str, fault: Fault) -> tuple[str, ...]:
    """Plant a fault in a model whose normalization was rewritten to fit into FP16."""
    norm = node_of(model, node)[1]
    change(model, norm.input[1], lambda values: values / 64)
    change(model, norm.input[4], lambda values: values / 4096)
    return fault(model)


# -- quantized ----------------------------------------------------------------------------------


def quantizers(model: Any, activations: bool = True) -> list[tuple[Any, Any]]:
    """Return QuantizeLinear with its DequantizeLinear; without: (None, that of a weight)."""
    quantizing: dict[str, Any] = {}
    for one in model.graph.node:
        if one.op_type == "QuantizeLinear":
            quantizing[one.output[0]] = one
        elif one.op_type in ("Cast", "Identity") and one.input[0] in quantizing:
            quantizing[one.output[0]] = quantizing[one.input[0]]
    reading = [one for one in model.graph.node if one.op_type == "DequantizeLinear"]
    if activations:
        return [(quantizing[one.input[0]], one) for one in reading if one.input[0] in quantizing]
    return [
        (None, one)
        for one in reading
        if one.input[0] not in quantizing and constant(model, one.input[0]).ndim > 1
    ]


@_fault
def activation_scale(model: Any, at: float, factor: float) -> tuple[str, ...]:
    """The scale of an activation is off by a factor; `at`: how far into the model."""
    both = quantizers(model)
    pair = both[int(at * len(both))]
    for node in pair:
        change(model, private(model, node, 1), lambda values: values * factor)
    return tuple(one.name for one in pair)


@_fault
def zero_point(model: Any, at: float, by: int) -> tuple[str, ...]:
    """Only one of a pair has the right zero point."""
    both = quantizers(model)
    pair = both[int(at * len(both))]
    change(model, private(model, pair[1], 2), lambda values: values.astype(np.int32) + by)
    return tuple(one.name for one in pair)


@_fault
def dequantizer_scale(model: Any, at: float, factor: float) -> tuple[str, ...]:
    """Only the DequantizeLinear of a pair has another scale."""
    both = quantizers(model)
    pair = both[int(at * len(both))]
    change(model, private(model, pair[1], 1), lambda values: values * factor)
    return tuple(one.name for one in pair)


@_fault
def swapped_scales(model: Any, at: float) -> tuple[str, ...]:
    """The scales of a weight's channels are in the wrong order."""
    both = [one for _, one in quantizers(model, activations=False)]
    several = [one for one in both if constant(model, one.input[1]).size > 1]
    node = several[int(at * len(several))]
    order = np.argsort(constant(model, node.input[1]).ravel())
    swapped = np.empty_like(order)
    swapped[order] = order[::-1]
    change(model, private(model, node, 1), lambda values: values[swapped])
    return (node.name,)


@_fault
def weight_scale(model: Any, at: float, factor: float) -> tuple[str, ...]:
    """The scale of a quantized weight is off by a factor."""
    both = [one for _, one in quantizers(model, activations=False)]
    node = both[int(at * len(both))]
    change(model, private(model, node, 1), lambda values: values * factor)
    return (node.name,)


def planted(source: Any, target: Any, fault: Fault) -> tuple[str, ...]:
    """Write a copy of a model with a fault; return the nodes of which one must be named."""
    model = onnx.load(source)
    for number, graph in enumerate(graphs(model.graph)):
        for at, node in enumerate(graph.node):
            node.name = node.name or f"{node.op_type}_{number}_{at}"
    names = fault(model)
    onnx.save(model, target)
    return names
