"""A plan's graph with what is written on it, before anything has a place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.records.plan.timing import Attribution
from enginescope.render.graph.node_labels import NodeLabel, Times, Wording, face_of, times_of

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


class GraphScene(Record, frozen=True, kw_only=True):
    """A graph and its words.

    Attributes:
        faces: One per node.
    """

    graph: PlanGraph
    faces: tuple[NodeLabel, ...]
    times: Times | None
    wording: Wording


def sketch(
    graph: PlanGraph, attribution: Attribution | None = None, wording: Wording | None = None
) -> GraphScene:
    """Return what is to be drawn, with times on layers where they are known.

    Raises:
        UsageError: `wording` asks for something that there is not.
    """
    wording = (wording or Wording()).checked()
    times = times_of(attribution)
    with gc_paused():
        faces = tuple(face_of(node, times, wording) for node in graph.nodes)
    return GraphScene(graph=graph, faces=faces, times=times, wording=wording)


def findings_by_layer(findings: Iterable[Finding]) -> Mapping[int, tuple[Finding, ...]]:
    """Return the findings of each layer, the most severe first."""
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda one: -one.severity.weight):
        for index in finding.layers:
            found[index].append(finding)
    return {index: tuple(those) for index, those in found.items()}
