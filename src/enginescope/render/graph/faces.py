"""What is written on and about each node and edge of a drawing."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.analysis.plan_graph import GraphEdge, GraphNode
from enginescope.core.record import Record
from enginescope.core.units import format_ms, format_significant
from enginescope.model.plan import Layer
from enginescope.model.tensor import Tensor
from enginescope.model.timing import Attribution

#: Characters of a name that fit a node; the whole stands in its title.
NAME_CHARACTERS = 30
_TITLE_CHARACTERS = 4000
# Estimated pixels per character, line height, and free space around the text.
_WIDE, _NARROW, _LINE = 7.6, 6.7, 15.0
_BESIDE, _ABOVE, _LEAST = 20.0, 14.0, 96.0
_ROUND = 16.0


class Times(Record, frozen=True, kw_only=True):
    """Mean times by `Layer.index`, and their sum over the whole profile."""

    mean_ms: Mapping[int, float]
    sum_ms: float

    def share_pct(self, index: int) -> float | None:
        """Return a layer's part of the sum; ``None`` without a time or a sum."""
        mean_ms = self.mean_ms.get(index)
        return 100 * mean_ms / self.sum_ms if mean_ms is not None and self.sum_ms else None


class Face(Record, frozen=True, kw_only=True, gc=False):
    """One node as it is drawn.

    Attributes
    ----------
    heading : str
    lines : tuple of str
        Under the heading.
    title : str
        Everything, shown when pointed at.
    width, height : float
        Pixels.
    """

    heading: str
    lines: tuple[str, ...]
    title: str
    width: float
    height: float


def times_of(attribution: Attribution | None) -> Times | None:
    """Return the times to write on layers; ``None`` if there are none."""
    if attribution is None:
        return None
    joined = [(one.layer.index, one.timing) for one in attribution.layers if one.timing]
    mean_ms = {index: one.mean_ms for index, one in joined if one.mean_ms is not None}
    every = [*(one for _, one in joined), *attribution.unmatched]
    counted = [one.mean_ms for one in every if one.mean_ms is not None and not one.is_container]
    return Times(mean_ms=mean_ms, sum_ms=sum(counted)) if mean_ms else None


def is_reformat(node: GraphNode) -> bool:
    """Whether the layer only changes how its input is stored."""
    return node.layer is not None and "reformat" in node.layer.type.lower()


def face_of(node: GraphNode, times: Times | None) -> Face:
    """Return what is written on and about a node."""
    if node.layer is not None:
        heading, lines, title = _of_layer(node, node.layer, times)
    else:
        heading, lines, title = _of_tensor(node)
    longest = max([len(heading) * _WIDE, *(len(line) * _NARROW for line in lines)])
    return Face(
        heading=heading,
        lines=lines,
        title=title[:_TITLE_CHARACTERS],
        width=max(_LEAST, longest + _BESIDE + (_ROUND if is_reformat(node) else 0.0)),
        height=_LINE * (1 + len(lines)) + _ABOVE,
    )


def edge_title(edge: GraphEdge, nodes: tuple[GraphNode, ...]) -> str:
    """Return what flows along an edge, from where to where."""
    ends = f"{nodes[edge.source].name} → {nodes[edge.target].name}"
    if edge.tensor is None:
        return f"{ends}\norder only: no tensor joins them"
    lines = [edge.tensor.name, tensor_text(edge.tensor), ends]
    if edge.kind == "reuse":
        lines.append("the same memory, written anew")
    if edge.is_carried:
        lines.append("read before it is written: from an earlier iteration")
    return "\n".join(line for line in lines if line)[:_TITLE_CHARACTERS]


def tensor_text(tensor: Tensor) -> str:
    """Return shape, type and layout: ``1×64×56×56 INT8 NC/32HW32``; ``?`` for a dynamic size."""
    shape = tensor.shape
    dims = "×".join("?" if dim is None else str(dim) for dim in shape) if shape else ""
    return " ".join(filter(None, (dims, _storage(tensor))))


def shortened(text: str, limit: int = NAME_CHARACTERS) -> str:
    """Return `text`, its middle left out if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def _of_layer(
    node: GraphNode, layer: Layer, times: Times | None
) -> tuple[str, tuple[str, ...], str]:
    heading = layer.type
    if is_reformat(node) and layer.attributes.get("Origin") == "QDQ":
        heading = f"{heading} (Q/DQ)"
    change = _change(layer) if is_reformat(node) else None
    time = _time_text(layer, times)
    lines = tuple(filter(None, (change or shortened(layer.name), time)))
    about = [
        layer.name,
        " · ".join(filter(None, (f"#{layer.index}", layer.type, layer.subtype))),
        time,
        f"tactic {layer.tactic_name}" if layer.tactic_name else None,
        *(f"in   {one.name}  {tensor_text(one)}" for one in layer.inputs),
        *(f"out  {one.name}  {tensor_text(one)}" for one in layer.outputs),
        f"ONNX {', '.join(layer.onnx_nodes)}" if layer.onnx_nodes else None,
    ]
    return heading, lines, "\n".join(filter(None, about))


def _of_tensor(node: GraphNode) -> tuple[str, tuple[str, ...], str]:
    assert node.tensor is not None
    heading = "region" if node.kind == "tensor" else node.kind
    if node.generation is not None:
        heading = f"{heading}, {_ordinal(node.generation + 1)} use"
    text = tensor_text(node.tensor)
    lines = tuple(filter(None, (shortened(node.name), shortened(text))))
    return heading, lines, "\n".join(filter(None, (node.name, heading, text)))


def _change(layer: Layer) -> str | None:
    """What a reformat changes: ``FP32 → INT8``, ``FP16 NCHW → NHWC8``; ``None`` if none is seen."""
    if not layer.inputs or not layer.outputs:
        return None
    before, after = layer.inputs[0], layer.outputs[0]
    old, new = _layout(before), _layout(after)
    if before.dtype == after.dtype and old == new:
        return None
    if before.dtype == after.dtype:
        return shortened(f"{_dtype(before)} {old} → {new}", NAME_CHARACTERS + 6)
    if old == new:
        return f"{_dtype(before)} → {_dtype(after)}"
    return shortened(f"{_dtype(before)} {old} → {_dtype(after)} {new}", NAME_CHARACTERS + 6)


def _layout(tensor: Tensor) -> str:
    return tensor.layout.name if tensor.layout else "?"


def _dtype(tensor: Tensor) -> str:
    return tensor.dtype.value if tensor.dtype else "?"


def _storage(tensor: Tensor) -> str:
    parts = [tensor.dtype.value] if tensor.dtype else []
    return " ".join([*parts, tensor.layout.name] if tensor.layout else parts)


def _time_text(layer: Layer, times: Times | None) -> str | None:
    mean_ms = times.mean_ms.get(layer.index) if times else None
    if times is None or mean_ms is None:
        return None
    share = times.share_pct(layer.index)
    text = format_ms(mean_ms, 3)
    return text if share is None else f"{text} · {format_significant(share, 2)} %"


def _ordinal(number: int) -> str:
    special = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else special.get(number % 10, 'th')}"
