"""A plan's graph with its places: what every writer of pictures and pages begins with."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.layout.laid_out import Boxes, LaidOut
from enginescope.analysis.layout.layered import lay_out
from enginescope.analysis.plan_graph import PlanGraph
from enginescope.core.record import Record
from enginescope.formats.paused_collection import paused_collection
from enginescope.model.timing import Attribution
from enginescope.render.graph.faces import Face, Times, face_of, times_of


class Drawing(Record, frozen=True, kw_only=True, eq=False):
    """A graph, what is written on its nodes, and where they lie.

    Attributes
    ----------
    graph : PlanGraph
    faces : tuple of Face
        One per node.
    times : Times or None
    laid_out : LaidOut
        Nodes and edges in the graph's order.
    """

    graph: PlanGraph
    faces: tuple[Face, ...]
    times: Times | None
    laid_out: LaidOut


def draw(graph: PlanGraph, attribution: Attribution | None = None) -> Drawing:
    """Return the drawing of `graph`, with times on its layers where they are known."""
    times = times_of(attribution)
    with paused_collection():
        faces = tuple(face_of(node, times) for node in graph.nodes)
    groups: dict[tuple[int, str], int] = {}
    boxes = Boxes(
        widths=np.array([one.width for one in faces], dtype=np.float64),
        heights=np.array([one.height for one in faces], dtype=np.float64),
        edges=np.array([(one.source, one.target) for one in graph.edges], dtype=np.int64).reshape(
            len(graph.edges), 2
        ),
        groups=np.array(
            [
                groups.setdefault(
                    (one.source, f"{one.kind} {one.tensor.name if one.tensor else ''}"),
                    len(groups),
                )
                for one in graph.edges
            ],
            dtype=np.int64,
        ),
    )
    return Drawing(graph=graph, faces=faces, times=times, laid_out=lay_out(boxes))
