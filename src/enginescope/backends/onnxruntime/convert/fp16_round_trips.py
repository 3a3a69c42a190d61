"""Tensors between two nodes that stay in FP32: not through FP16 and back.

The converter puts a cast to FP16 behind each node that it leaves out, and one back before the next:
what FP16 cannot hold is lost between two nodes that were left out because of it.
"""

from __future__ import annotations

from typing import Any

from enginescope.core.optional import require

#: What the converter calls the output of a node that it leaves out, before it is cast; by version.
_OF_LEFT_OUT = ("_cast_to_fp16", "_output_cast_")


def take_out_round_trips(graph: Any) -> None:
    """Let a node that was left out read what another one gives, without the two casts between."""
    onnx = require("onnx", purpose="converting a model to fp16", install="onnx")
    half, single = onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    sources = {
        node.output[0]: node.input[0]
        for node in graph.node
        if _casts_to(node, half) and any(one in node.input[0] for one in _OF_LEFT_OUT)
    }
    returning = [
        node for node in graph.node if _casts_to(node, single) and node.input[0] in sources
    ]
    inside = {name for node in graph.node for name in _read_by(node)[len(node.input) :]}
    kept = {one.name for one in graph.output} | inside
    instead = {
        node.output[0]: sources[node.input[0]] for node in returning if node.output[0] not in kept
    }
    for node in graph.node:
        for at, name in enumerate(node.input):
            if name in instead:
                node.input[at] = instead[name]
    for node in returning:
        if node.output[0] in instead:
            graph.node.remove(node)
    _drop_unread(graph, set(sources) - kept)


def _drop_unread(graph: Any, made: set[str]) -> None:
    """Drop casts to FP16 that nobody reads any more."""
    read = {name for node in graph.node for name in _read_by(node)}
    for node in [one for one in graph.node if one.op_type == "Cast"]:
        if node.output[0] in made and node.output[0] not in read:
            graph.node.remove(node)


def _read_by(node: Any) -> list[str]:
    found = list(node.input)
    for attribute in node.attribute:
        graphs = (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))
        for inner in graphs:
            found += [one.name for one in inner.output]
            found += [name for each in inner.node for name in _read_by(each)]
    return found


def _casts_to(node: Any, kind: int) -> bool:
    return node.op_type == "Cast" and any(
        one.name == "to" and one.i == kind for one in node.attribute
    )
