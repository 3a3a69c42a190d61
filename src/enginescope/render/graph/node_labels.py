"""What is written on and about each node and edge of a drawing, and how wide text will be."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.analysis.layers.reformats import REFORMATS
from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.core.record import Record
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.plan.plan import Attribution, Layer
from enginescope.render.base.facts import form_text
from enginescope.render.base.short_names import shorten

if TYPE_CHECKING:
    from enginescope.analysis.roofline.layer_work import LayerWork
    from enginescope.rules.base import Finding


def text_width(text: str, character: float) -> float:
    """Return an estimate in pixels, `character` being that of a usual one.

    Before any font is known. Full and wide characters, as of Chinese or Japanese, count double.
    """
    if not text or max(text) < "\u0300":  # the first that is not as wide as a letter
        return len(text) * character
    seen = (one for one in text if unicodedata.category(one) not in ("Mn", "Me", "Cf"))
    return character * sum(2 if unicodedata.east_asian_width(one) in "FW" else 1 for one in seen)


#: Characters of a name that fit a node; the whole stands in its title.
NAME_CHARACTERS = 30
#: Of a group, which is called by the first and the last that it holds.
GROUP_CHARACTERS = 44


class Wording(Record, frozen=True, kw_only=True):
    """What is written on nodes beside their types, names and times.

    Attributes:
        findings: What lint says, by `Layer.index`; the layers' codes are written on them.
        works: What layers compute, by `Layer.index`.
        short_names: What to write for a name that is too long.
    """

    findings: Mapping[int, tuple[Finding, ...]] = {}
    works: Mapping[int, LayerWork] = {}
    short_names: Mapping[str, str] = {}


#: What is written unless something else is asked for.
USUAL = Wording()


class Times(Record, frozen=True, kw_only=True):
    """Times by `Layer.index`, and their sum over the whole profile."""

    time_ms: Mapping[int, float]
    sum_ms: float

    def share_pct(self, index: int) -> float | None:
        """Return a layer's part of the sum; ``None`` without a time or a sum."""
        time_ms = self.time_ms.get(index)
        return 100 * time_ms / self.sum_ms if time_ms is not None and self.sum_ms else None

    def sum_of_ms(self, layers: Iterable[Layer]) -> float | None:
        """Return the time of some layers together; ``None`` if none of them has one."""
        known = [self.time_ms[layer.index] for layer in layers if layer.index in self.time_ms]
        return sum(known) if known else None


class NodeLabel(Record, frozen=True, kw_only=True, gc=False):
    """One node as it is drawn.

    Attributes:
        lines: Under the heading.
        title: Everything, shown when pointed at.
        width, height: Pixels.
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
    joined = [(layer.layer.index, layer.timing) for layer in attribution.layers if layer.timing]
    time_ms = {index: one.time_ms for index, one in joined if one.time_ms is not None}
    every = [*(one for _, one in joined), *attribution.unmatched]
    counted = [one.time_ms for one in every if one.time_ms is not None and not one.is_container]
    return Times(time_ms=time_ms, sum_ms=sum(counted)) if time_ms else None


def is_reformat(node: GraphNode) -> bool:
    """Whether the layer only changes how its input is stored."""
    return node.layer is not None and node.layer.type in REFORMATS


def face_of(node: GraphNode, times: Times | None, wording: Wording = USUAL) -> NodeLabel:
    """Return what is written on and about a node."""
    if node.kind == "group":
        heading, lines, title = _of_group(node, times, wording)
    elif node.layer is not None:
        heading, lines, title = _of_layer(node, node.layer, times, wording)
    else:
        heading, lines, title = _of_tensor(node)
    # estimated pixels: a character of the heading and of a line; below: least width, free space
    # beside, round ends of a reformat; height of a line, free space above
    longest = max([text_width(heading, 7.8), *(text_width(line, 7.0) for line in lines)])
    about = f"{title[:4000]}…" if len(title) > 4000 else title  # the name is never cut
    return NodeLabel(
        heading=heading,
        lines=lines,
        title=f"{node.name}\n{about}" if about else node.name,
        width=max(96.0, longest + 20.0 + (16.0 if is_reformat(node) else 0.0)),
        height=15.0 * (1 + len(lines)) + 14.0,
    )


def _of_layer(
    node: GraphNode, layer: Layer, times: Times | None, wording: Wording
) -> tuple[str, tuple[str, ...], str]:
    heading = shorten(layer.type, NAME_CHARACTERS)
    if is_reformat(node) and layer.attributes.get("Origin") == "QDQ":
        heading = f"{heading} (Q/DQ)"
    change = _change(layer) if is_reformat(node) else None
    time = _time_text((layer,), times)
    found = wording.findings.get(layer.index, ())
    codes = " ".join(dict.fromkeys(one.code for one in found))
    name = change or wording.short_names.get(layer.name) or shorten(layer.name, NAME_CHARACTERS)
    attributes = ((one.title.lower(), one.value(layer)) for one in LAYER_ATTRIBUTES)
    about = [
        " · ".join(filter(None, (f"#{layer.index}", layer.type, layer.subtype))),
        time,
        *(f"{one.code} {one.severity.value}: {one.message}" for one in found),
        ", ".join(f"{title} {value}" for title, value in attributes if value is not None),
        _work(wording.works.get(layer.index)),
        f"tactic {layer.tactic_name}" if layer.tactic_name else None,
        *(f"in   {one.name}  {form_text(one)}" for one in layer.inputs),
        *(f"out  {output.name}  {form_text(output)}" for output in layer.outputs),
        f"ONNX {', '.join(layer.onnx_nodes)}" if layer.onnx_nodes else None,
    ]
    lines = filter(None, (name, time, shorten(codes, NAME_CHARACTERS)))
    return heading, tuple(lines), "\n".join(filter(None, about))


def _work(work: LayerWork | None) -> str | None:
    if work is None or not work.macs:
        return None
    intensity = work.arithmetic_intensity
    ratio = f", {format_significant(intensity, 3)} MAC/byte" if intensity is not None else ""
    return f"{format_significant(work.macs / 1e6, 3)} million MACs{ratio}"


def _of_group(
    node: GraphNode, times: Times | None, wording: Wording
) -> tuple[str, tuple[str, ...], str]:
    count = counted(len(node.layers), "layer")
    types = Counter(layer.type for layer in node.layers)
    found = (one for layer in node.layers for one in wording.findings.get(layer.index, ()))
    codes = " ".join(sorted({one.code for one in found}))
    time = _time_text(node.layers, times)
    lines = (count, time, shorten(codes, NAME_CHARACTERS))
    about = (count, time, codes, *(f"{name} × {number:,}" for name, number in types.most_common()))
    name = wording.short_names.get(node.name) or shorten(node.name, GROUP_CHARACTERS)
    return name, tuple(filter(None, lines)), "\n".join(filter(None, about))


def _of_tensor(node: GraphNode) -> tuple[str, tuple[str, ...], str]:
    assert node.tensor is not None
    heading = "region" if node.kind == "tensor" else node.kind
    if node.generation is not None:
        heading = f"{heading}, use {node.generation + 1}"
    text = form_text(node.tensor)
    lines = filter(None, (shorten(one, NAME_CHARACTERS) for one in (node.name, text)))
    return heading, tuple(lines), "\n".join(filter(None, (heading, text)))


def _change(layer: Layer) -> str | None:
    """What a reformat changes: ``FP32 → INT8``, ``FP16 NCHW → NHWC8``; ``None`` if none is seen."""
    if not layer.inputs or not layer.outputs:
        return None
    (dtype, layout), (new_dtype, new_layout) = (
        (one.dtype.value if one.dtype else "?", one.layout.name if one.layout else "?")
        for one in (layer.inputs[0], layer.outputs[0])
    )
    if layout == new_layout:
        return f"{dtype} → {new_dtype}" if dtype != new_dtype else None
    to = new_layout if dtype == new_dtype else f"{new_dtype} {new_layout}"
    return shorten(f"{dtype} {layout} → {to}", NAME_CHARACTERS + 6)


def _time_text(layers: Iterable[Layer], times: Times | None) -> str | None:
    time_ms = times.sum_of_ms(layers) if times else None
    if times is None or time_ms is None:
        return None
    text = format_ms(time_ms, 3)
    if not times.sum_ms:
        return text
    return f"{text} · {format_significant(100 * time_ms / times.sum_ms, 2)} %"


#: Source, kind and tensor: edges that have all three alike carry one tensor to several readers.
Flow = tuple[int, str, str]


def flow_of(edge: GraphEdge) -> Flow:
    """Return what makes edges of one tensor from one node alike."""
    return edge.source, edge.kind, edge.tensor.name if edge.tensor else ""


def edge_labels(graph: PlanGraph) -> Iterator[str | None]:
    """Yield shape, precision and format for each edge; ``None`` where a node at its end says so."""
    for edge in graph.edges:
        ends = graph.nodes[edge.source], graph.nodes[edge.target]
        if edge.tensor is None or edge.kind != "data" or any(end.tensor for end in ends):
            yield None
        else:
            yield shorten(form_text(edge.tensor), 36) or None  # whole names are on the nodes


def edge_titles(graph: PlanGraph) -> Iterator[str]:
    """Yield for each edge what flows along it, and from where to where."""
    for edge in graph.edges:
        ends = graph.nodes[edge.source], graph.nodes[edge.target]
        between = " → ".join(shorten(end.name, 120) for end in ends)
        tensor = edge.tensor
        said = (shorten(tensor.name, 2_000), form_text(tensor)) if tensor else ()
        yield "\n".join(filter(None, (*said, between)))
