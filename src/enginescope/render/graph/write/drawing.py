"""A plan's graph with its places: what every writer of pictures and pages begins with."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.graph.layout.edge_labels import LABEL_HEIGHT, place_labels
from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, lay_out
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.records.plan.timing import Attribution
from enginescope.render.graph.categories import Flow, edge_labels, flow_of
from enginescope.render.graph.node_labels import NodeLabel, Times, text_width
from enginescope.render.graph.paint import GraphScene, sketch

#: Estimated pixels per character beside an edge.
LABEL_CHARACTER = 6.8


class EdgeLabel(Record, frozen=True, kw_only=True, gc=False):
    """Words beside an edge, around a center, in pixels."""

    edge: int
    text: str
    x: float
    y: float


class Drawing(Record, frozen=True, kw_only=True, eq=False):
    """A graph, what is written on its nodes, and where they lie.

    Attributes:
        faces: One per node.
        laid_out: Nodes and edges in the graph's order.
        labels: One for each tensor that found room.
        sketch: The same without places.
    """

    graph: PlanGraph
    faces: tuple[NodeLabel, ...]
    times: Times | None
    laid_out: LaidOut
    labels: tuple[EdgeLabel, ...]
    sketch: GraphScene


def draw(graph: PlanGraph, attribution: Attribution | None = None) -> Drawing:
    """Return the drawing of `graph`, with times on its layers where they are known."""
    return drawn(sketch(graph, attribution))


def drawn(given: GraphScene, laid_out: LaidOut | None = None) -> Drawing:
    """Return `given` with its places.

    Args:
        laid_out: Of `boxes_of` the same; our own layout's unless given.
    """
    if laid_out is None:
        laid_out = lay_out(boxes_of(given))
    with gc_paused():
        labels = _labels(given, laid_out) if given.wording.details != "few" else ()
    return Drawing(
        graph=given.graph,
        faces=given.faces,
        times=given.times,
        laid_out=laid_out,
        labels=labels,
        sketch=given,
    )


def boxes_of(given: GraphScene) -> Boxes:
    """Return the sizes of the nodes and the edges, those of one tensor in one group."""
    graph, faces = given.graph, given.faces
    groups: dict[Flow, int] = {}
    return Boxes(
        widths=np.array([face.width for face in faces], dtype=np.float64),
        heights=np.array([face.height for face in faces], dtype=np.float64),
        edges=np.array(
            [(edge.source, edge.target) for edge in graph.edges], dtype=np.int64
        ).reshape(len(graph.edges), 2),
        groups=np.array(
            [groups.setdefault(flow_of(edge), len(groups)) for edge in graph.edges], dtype=np.int64
        ),
    )


def _labels(given: GraphScene, laid_out: LaidOut) -> tuple[EdgeLabel, ...]:
    """One label a tensor: beside the edge that has the most of its line to itself."""
    texts: dict[int, str] = {}
    shown: dict[Flow, int] = {}
    first_y = laid_out.points[laid_out.starts[:-1], 1].tolist() if len(given.graph.edges) else []
    for index, (edge, text) in enumerate(
        zip(given.graph.edges, edge_labels(given.graph), strict=True)
    ):
        if text is None:
            continue
        texts[index] = text
        flow = flow_of(edge)
        before = shown.setdefault(flow, index)
        if first_y[index] < first_y[before]:
            shown[flow] = index
    wanted = sorted(shown.values())
    sizes = {one: text_width(texts[one], LABEL_CHARACTER) for one in wanted}
    return tuple(
        EdgeLabel(edge=edge, text=texts[edge], x=x, y=y)
        for edge, x, y in place_labels(laid_out, sizes, LABEL_HEIGHT)
    )
