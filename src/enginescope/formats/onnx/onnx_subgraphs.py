"""Graphs within graphs of an ONNX model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from enginescope.formats.onnx.onnx_files import load_without_weights


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


def node_names(path: Path) -> frozenset[str]:
    """Return the names of a model's nodes, those in branches and bodies too.

    Raises:
        BackendError: It cannot be read, or is no ONNX model.
    """
    graphs = graphs_of(load_without_weights(str(path)).graph)
    return frozenset(node_name(node) for graph in graphs for node in graph.node)


def node_name(node: Any) -> str:
    """Return a node's name; without one, as TensorRT's parser calls it."""
    first = next(filter(None, node.output), "")
    return str(node.name or f"node_of_{first}")
