"""Graphs within graphs of an ONNX model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def graphs_of(graph: Any) -> Iterator[Any]:
    """Yield `graph` and, depth first, the branches and bodies of its nodes."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from graphs_of(inner)


def inner_graphs(node: Any) -> Iterator[Any]:
    """Yield the branches or body of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def node_name(node: Any) -> str:
    """Return a node's name; without one, as TensorRT's parser calls it."""
    first = node.output[0] if node.output else ""
    return str(node.name or f"node_of_{first}")
