"""The values of a model's weights, wherever it holds them: initializers and Constant nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.errors import BackendError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_precision import graphs_of, load_without_weights, node_name

#: No layer needs such a weight: it stands for minus infinity in a mask.
_SENTINEL = 1e30


class LargeWeight(Record, frozen=True, kw_only=True):
    """A weight with the node that reads it, and its largest magnitude."""

    name: str
    node: str
    operator: str
    peak: float


def large_weights(path: Path, above: float) -> tuple[LargeWeight, ...]:
    """Return the floating weights whose largest finite magnitude is above a number.

    Raises:
        BackendError: The model or a file of its weights cannot be read.
    """
    model = load_without_weights(str(path))
    peaks: dict[str, float] = {}
    for name, tensor in _weights(model.graph):
        peak = _peak(path, tensor)
        if above < peak < _SENTINEL:
            peaks[name] = peak
    return tuple(
        LargeWeight(
            name=name,
            node=node_name(node),
            operator=node.op_type,
            peak=peaks[name],
        )
        for graph in graphs_of(model.graph)
        for node in graph.node
        for name in node.input
        if name in peaks
    )


def _weights(graph: Any) -> Iterator[tuple[str, Any]]:
    for inner in graphs_of(graph):
        for tensor in inner.initializer:
            yield tensor.name, tensor
        for node in inner.node:
            if node.op_type == "Constant":
                for attribute in node.attribute:
                    if attribute.name == "value":
                        yield from ((name, attribute.t) for name in node.output)


def _peak(path: Path, tensor: Any) -> float:
    """Return the largest finite magnitude; 0 where the numbers are not floating."""
    onnx = require("onnx", purpose="reading weights", install="enginescope")
    kinds = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)
    if tensor.data_type not in kinds:
        return 0.0
    try:
        values = onnx.numpy_helper.to_array(tensor, base_dir=str(path.parent))
    except (OSError, TypeError, ValueError, RuntimeError, onnx.checker.ValidationError) as error:
        raise BackendError(f"{path}", why=f"its weight {tensor.name}: {error}") from error
    sizes = np.abs(values.astype(np.float64))
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))
