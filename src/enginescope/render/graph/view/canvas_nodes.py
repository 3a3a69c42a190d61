"""Nodes and edges of a plan's graph as the page's view reads them.

Numbers and names as a page carries them: short, and quick to read.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.records.plan.plan import Layer
from enginescope.records.tensor import Tensor
from enginescope.render.base.facts import shape_text
from enginescope.render.base.palette import OTHER, family_color, precision_color, type_family

_TYPES = {"u1": "<u1", "u4": "<u4", "i4": "<i4", "f4": "<f4"}
# A large plan's data is an eighth of its size then; higher levels take long for little.
_LEVEL = 4


def packed(code: str, values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return numbers as an array that `container` takes.

    Args:
        values: ``None`` is NaN, where the type has it.
    """
    array = np.asarray(values, dtype=np.float32 if code == "f4" else None)
    return np.ascontiguousarray(array.astype(_TYPES[code]))


def container(value: Any) -> str:
    """Return nested dicts and lists with arrays in them as base64.

    Deflated: the length of the JSON in 4 bytes, the JSON padded to a multiple of 4, then the
    arrays' bytes, each padded likewise. In the JSON an array is ``{"$": "u4", "at": 0, "n": 12}``,
    `at` counting from the end of the JSON.
    """
    parts: list[bytes] = []
    length = 0

    def reference(array: np.ndarray) -> dict[str, Any]:
        nonlocal length
        data = array.tobytes()
        found = {"$": array.dtype.str[1:], "at": length, "n": array.size}
        parts.append(data + b"\0" * (-len(data) % 4))
        length += len(parts[-1])
        return found

    text = msgspec.json.encode(value, enc_hook=reference)
    text += b" " * (-len(text) % 4)
    whole = b"".join((len(text).to_bytes(4, "little"), text, *parts))
    return base64.b64encode(zlib.compress(whole, _LEVEL)).decode("ascii")


class StringTable:
    """Each string once, found by its number; 0 is the empty one."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {"": 0}

    def number(self, text: str | None) -> int:
        """Return the number of `text`, which is added if it is new; 0 for ``None``."""
        if not text:
            return 0
        return self._number.setdefault(text, len(self._number))

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Return `number` of each."""
        found = self._number
        return [found.setdefault(text, len(found)) if text else 0 for text in texts]

    @property
    def strings(self) -> list[str]:
        """Every string, in the order of the numbers.

        What no file can hold, lone surrogates, is ``?``.
        """
        return [one.encode("utf-8", "replace").decode("utf-8") for one in self._number]


KINDS = ("layer", "input", "output", "constant", "tensor")
EDGE_KINDS = ("data", "reuse", "order")
_CARRIED = 4


class Names:
    """The tables that nodes and edges point into."""

    def __init__(self) -> None:
        self.strings = StringTable()
        self.families: dict[str, int] = {}
        self.precisions: dict[str, int] = {"unknown": 0}
        self._texts: dict[Any, int] = {}

    def family(self, layer: Layer) -> int:
        """Return the number of the kind of work a layer does."""
        return self.families.setdefault(type_family(layer.type), len(self.families))

    def precision(self, name: str | None) -> int:
        """Return the number of a precision; 0 where it is not known."""
        return self.precisions.setdefault(name or "unknown", len(self.precisions))

    def tensor_text(self, tensor: Tensor) -> int:
        """Return the number of shape, type and layout in words."""
        dtype = tensor.dtype
        # By names and places: to hash a type calls Python, and a large plan asks 200,000 times.
        key = tensor.shape, dtype and dtype._name_, id(tensor.layout)
        found = self._texts.get(key)
        if found is None:
            words = [shape_text(tensor.shape)] if tensor.shape is not None else []
            words += [dtype.value] if dtype else []
            words += [tensor.layout.name] if tensor.layout else []
            found = self._texts[key] = self.strings.number(" ".join(words))
        return found

    def packed(self) -> dict[str, Any]:
        """Return the tables, colors beside what they stand for."""
        return {
            "strings": self.strings.strings,
            "families": [[name, family_color(name)] for name in self.families],
            "precisions": [
                [name, OTHER if name == "unknown" else precision_color(name)]
                for name in self.precisions
            ],
        }


def packed_nodes(
    graph: PlanGraph, names: Names, times_ms: Mapping[int, float | None]
) -> dict[str, Any]:
    """Return the nodes by columns; tensors and ONNX nodes of all, one after the other."""
    numbers = names.strings.numbers
    layers = [node.layer for node in graph.nodes]
    starts, onnx_starts = [0], [0]
    ends: list[int] = []
    tensors: list[Tensor] = []
    onnx: list[str] = []
    for node in graph.nodes:
        tensors += _tensors(node)
        starts.append(len(tensors))
        ends.append(starts[-2] + (len(node.layer.inputs) if node.layer else 0))
        onnx += node.layer.onnx_nodes if node.layer else ()
        onnx_starts.append(len(onnx))
    return {
        "kind": packed("u1", [KINDS.index(node.kind) for node in graph.nodes]),
        "name": packed("u4", numbers(node.name for node in graph.nodes)),
        "type": packed("u4", numbers(layer.type if layer else None for layer in layers)),
        "subtype": packed("u4", numbers(layer.subtype if layer else None for layer in layers)),
        "tactic": packed("u4", numbers(layer.tactic_name if layer else None for layer in layers)),
        "family": packed("u1", [names.family(layer) if layer else 0 for layer in layers]),
        "precision": packed("u1", [_precision(layer, names) for layer in layers]),
        "index": packed("i4", [layer.index if layer else -1 for layer in layers]),
        "ms": packed("f4", [times_ms.get(layer.index) if layer else None for layer in layers]),
        "generation": packed(
            "i4", [-1 if node.generation is None else node.generation for node in graph.nodes]
        ),
        "starts": packed("u4", starts),
        "outputs": packed("u4", ends),
        "tensor": packed("u4", numbers(tensor.name for tensor in tensors)),
        "text": packed("u4", [names.tensor_text(tensor) for tensor in tensors]),
        "onnxStarts": packed("u4", onnx_starts),
        "onnx": packed("u4", numbers(onnx)),
    }


def packed_edges(graph: PlanGraph, names: Names) -> dict[str, Any]:
    """Return the edges by columns."""
    numbers = names.strings.numbers
    edges = graph.edges
    kinds = [EDGE_KINDS.index(edge.kind) + _CARRIED * edge.is_carried for edge in edges]
    tensors = [edge.tensor for edge in edges]
    return {
        "source": packed("u4", [edge.source for edge in edges]),
        "target": packed("u4", [edge.target for edge in edges]),
        "kind": packed("u1", kinds),
        "tensor": packed("u4", numbers(tensor.name if tensor else None for tensor in tensors)),
        "text": packed("u4", [names.tensor_text(tensor) if tensor else 0 for tensor in tensors]),
        "precision": packed(
            "u1",
            [
                names.precision(tensor.dtype._name_ if tensor and tensor.dtype else None)
                for tensor in tensors
            ],
        ),
    }


def _tensors(node: GraphNode) -> Sequence[Tensor]:
    if node.layer is not None:
        return (*node.layer.inputs, *node.layer.outputs)
    return (node.tensor,) if node.tensor is not None else ()


def _precision(layer: Layer | None, names: Names) -> int:
    precision = layer.precision if layer is not None else None
    return names.precision(precision._name_ if precision else None)
