"""The graph that ONNX Runtime executed: nodes of its optimized model, shapes of its profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from enginescope.formats.lenient_json import Document
from enginescope.formats.onnx.node_owners import with_onnx_nodes
from enginescope.formats.onnx.onnx_graph import reads
from enginescope.formats.onnx.onnx_precision import (
    DATA_TYPES,
    load_without_weights,
    node_name,
    type_name,
)
from enginescope.formats.onnxruntime.ort_profile import SUFFIX
from enginescope.records.plan.plan import EXECUTED, IOTensor, Layer, Plan, Weights
from enginescope.records.tensor import Tensor

#: What the optimizer adds to a name: of a convolution in blocks of channels, of two nodes in one.
_BLOCKED, _FUSED = "_nchwc", "fused "

#: Types and shapes of the inputs and of the outputs of one node.
_Uses = tuple[Sequence[Tensor], Sequence[Tensor]]


def executed_plan(model: Path, profile: Document, name: str, original: str) -> Plan:
    """Return the nodes as layers, with the tensors that flow between them.

    Args:
        model: As the profiled session wrote it.
        profile: Its profile. Shapes of nodes whose name is there for several are not known.
        original: The ONNX file that the session was made from.
    """
    graph = load_without_weights(str(model)).graph
    weights = {
        one.name: Tensor(
            name=one.name,
            shape=tuple(one.dims),
            dtype=DATA_TYPES.get(type_name(one.data_type) or ""),
        )
        for one in graph.initializer
    }
    uses = _uses(profile.value)
    tensors: dict[str, Tensor] = {}
    layers = tuple(
        _layer(at, node, weights, uses.get(node.name), tensors)
        for at, node in enumerate(graph.node)
    )
    originals = {one.index: _originals(one) for one in layers}
    ends = (("input", graph.input), ("output", graph.output))
    return Plan(
        name=name,
        layers=with_onnx_nodes(layers, originals, original),
        io=tuple(
            IOTensor(tensor=tensors.get(one.name) or Tensor(name=one.name), mode=mode)
            for mode, values in ends
            for one in values
            if one.name not in weights
        ),
        source_schema=EXECUTED,
    )


def _originals(layer: Layer) -> list[str]:
    """Return what a node may have been called before the optimizer renamed it, and its outputs."""
    names = [layer.name, layer.name.removesuffix(_BLOCKED), layer.name.removeprefix(_FUSED)]
    return [*names, layer.name.rpartition("/")[0], *(one.name for one in layer.outputs)]


def _layer(
    index: int,
    node: Any,
    weights: dict[str, Tensor],
    uses: _Uses | None,
    tensors: dict[str, Tensor],
) -> Layer:
    names = [one for one in node.input if one]
    results = [one for one in node.output if one]
    read = _named(names, uses[0] if uses else (), weights)
    written = _named(results, uses[1] if uses else (), weights)
    inside = [Tensor(name=one) for one in dict.fromkeys(reads(node)) if one not in names]
    for one in (*read, *written):
        tensors.setdefault(one.name, one)
    return Layer(
        index=index,
        name=node.name or node_name(node),
        type=node.op_type,
        inputs=tuple(one for one in (*read, *inside) if one.name not in weights),
        outputs=tuple(written),
        weights=tuple(
            Weights(role=one.name, dtype=one.dtype, count=one.elements)
            for one in read
            if one.name in weights
        ),
    )


def _named(
    names: Sequence[str], uses: Sequence[Tensor], weights: dict[str, Tensor]
) -> list[Tensor]:
    """Join names and uses in their order; the profile leaves out weights that are packed anew."""
    left, joined = list(uses), []
    for name in names:
        own = weights.get(name)
        if left and (own is None or own.shape == left[0].shape):
            use = left.pop(0)
            own = own or Tensor(name=name, shape=use.shape, dtype=use.dtype)
        joined.append(own or Tensor(name=name))
    is_whole = not left and all(tensor.shape is not None for tensor in joined)
    return joined if is_whole else [weights.get(name) or Tensor(name=name) for name in names]


def _uses(events: Iterable[Any]) -> dict[str, _Uses]:
    """Return what the nodes read and wrote, by names that are one node's."""
    uses: dict[str, _Uses] = {}
    numbers: dict[str, set[Any]] = {}
    for event in events:
        arguments: Any = event.get("args") if isinstance(event, dict) else None
        name = event.get("name") if isinstance(arguments, dict) else None
        if isinstance(name, str) and name.endswith(SUFFIX):
            node = name.removesuffix(SUFFIX)
            numbers.setdefault(node, set()).add(arguments.get("node_index"))
            uses[node] = (
                _typed(arguments.get("input_type_shape")),
                _typed(arguments.get("output_type_shape")),
            )
    return {name: pair for name, pair in uses.items() if len(numbers[name]) == 1}


def _typed(values: Any) -> list[Tensor]:
    """Return ``[{"float": [1, 3, 224, 224]}]`` as tensors without names."""
    return [
        Tensor(name="", shape=tuple(shape), dtype=DATA_TYPES.get(kind.upper()))
        for one in values or ()
        for kind, shape in one.items()
    ]
