"""Which part of a plan's graph is drawn, and what is framed in it."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.graph.folding.fold import folded
from enginescope.analysis.graph.folding.levels import left_out
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.analysis.graph.plan_graph_part import (
    GraphPart,
    named,
    parse_beam,
    part_of,
    queried,
    within,
)


def selected(
    graph: PlanGraph,
    *,
    beam: str | None = None,
    filters: Sequence[str] = (),
    highlights: Sequence[str] = (),
) -> GraphPart | None:
    """Return what is asked for of `graph`; ``None`` if that is all of it, and nothing framed.

    Args:
        beam: ``LAYER,N``: what is within N steps of a layer, after what is filtered out has been
            folded.
        filters, highlights: As `queried` reads them. What the filters do not mean is folded, run by
            run.
    """
    centres, radius = set[int](), 0
    if beam:
        name, radius = parse_beam(beam)
        centres = set(named(graph, name))
    framed = set(queried(graph, highlights)) if highlights else centres
    drawn = graph
    if filters:
        whole = left_out(graph, {*queried(graph, filters), *centres, *framed})
        drawn = folded(graph, whole)
        place = {old: at for at, old in enumerate(whole.members) if isinstance(old, int)}
        centres, framed = ({place[one] for one in those} for those in (centres, framed))
    if not (beam or filters or highlights):
        return None
    kept = within(drawn, centres, radius) if beam else {node.id for node in drawn.nodes}
    part = part_of(drawn, kept, framed & kept)
    return GraphPart(
        graph=part.graph,
        centres=part.centres,
        whole_nodes=len(graph.nodes),
        cut_edges=part.cut_edges,
    )
