"""Nodes of an ONNX model by their place in its file, as TensorRT's parser counts them."""

from __future__ import annotations

from enginescope.core.errors import BackendError
from enginescope.formats.onnx_files import load_without_weights


def node_at(path: str, index: int) -> tuple[str | None, str | None]:
    """Return name and operator of a model's node; ``None`` for both if it cannot be told."""
    try:
        nodes = load_without_weights(path).graph.node
    except BackendError:
        return None, None
    if not 0 <= index < len(nodes):
        return None, None
    node = nodes[index]
    domain = f"{node.domain}::" if node.domain else ""
    return node.name or None, f"{domain}{node.op_type}"
