"""Which nodes of a plan's graph are meant: by type, by precision, by words."""

from __future__ import annotations

from collections.abc import Iterable

from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.analysis.graph.plan_graph_part import matching
from enginescope.core.errors import UsageError
from enginescope.core.suggest import closest


def queried(graph: PlanGraph, queries: Iterable[str]) -> tuple[int, ...]:
    """Return the ids of the nodes that all of `queries` mean.

    Args:
        queries: ``type:Reformat`` and ``precision:INT8`` mean layers, in whatever case; anything
            else is a regular expression, sought in names, types, tactics and ONNX nodes.

    Raises:
        UsageError: One of them is no regular expression, or nothing is meant by all.
    """
    given = tuple(queries)
    found = {node.id for node in graph.nodes}
    for query in given:
        kind, colon, value = query.partition(":")
        if colon and kind in _TEXTS:
            found &= _equal(graph, kind, value)
        else:
            found &= set(matching(graph, query))
    if not found:
        raise UsageError(f"no node of {graph.name} matches all of {', '.join(given)}")
    return tuple(sorted(found))


def _equal(graph: PlanGraph, kind: str, value: str) -> set[int]:
    texts = {node.id: tuple(filter(None, _TEXTS[kind](node))) for node in graph.nodes}
    sought = value.casefold()
    found = {node for node, those in texts.items() if sought in map(str.casefold, those)}
    if not found:
        there = sorted({one for those in texts.values() for one in those})
        near = closest(value, there) or ", ".join(there)
        raise UsageError(
            f"{graph.name} has no layer of {kind} {value!r}",
            hint=f"did you mean {near}?" if near else None,
        )
    return found


def _types(node: GraphNode) -> tuple[str | None, ...]:
    return (node.layer.type, node.layer.subtype) if node.layer else ()


def _precisions(node: GraphNode) -> tuple[str | None, ...]:
    precision = node.layer.precision if node.layer else None
    return (precision.value,) if precision else ()


_TEXTS = {"type": _types, "precision": _precisions}
