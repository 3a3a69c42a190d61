"""A plan's graph with what is written on it, before anything has a place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from enginescope.analysis.plan_graph import PlanGraph
from enginescope.core.paused_collection import paused_collection
from enginescope.core.record import Record
from enginescope.model.timing import Attribution
from enginescope.render.graph.faces import Face, Times, Wording, face_of, times_of

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


class Sketch(Record, frozen=True, kw_only=True):
    """A graph and its words.

    Attributes
    ----------
    graph : PlanGraph
    faces : tuple of Face
        One per node.
    times : Times or None
    wording : Wording
    """

    graph: PlanGraph
    faces: tuple[Face, ...]
    times: Times | None
    wording: Wording


def sketch(
    graph: PlanGraph, attribution: Attribution | None = None, wording: Wording | None = None
) -> Sketch:
    """Return what is to be drawn, with times on layers where they are known.

    Raises
    ------
    UsageError
        `wording` asks for something that there is not.
    """
    wording = (wording or Wording()).checked()
    times = times_of(attribution)
    with paused_collection():
        faces = tuple(face_of(node, times, wording) for node in graph.nodes)
    return Sketch(graph=graph, faces=faces, times=times, wording=wording)


def findings_by_layer(findings: Iterable[Finding]) -> Mapping[int, tuple[Finding, ...]]:
    """Return the findings of each layer, the most severe first."""
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for one in sorted(findings, key=lambda one: -one.severity.weight):
        for index in one.layers:
            found[index].append(one)
    return {index: tuple(those) for index, those in found.items()}
