"""A plan's graph as the page's interactive view is given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enginescope.analysis.folding.fold import fold
from enginescope.analysis.folding.levels import Level, levels
from enginescope.analysis.folding.node_traits import NodeTraits
from enginescope.analysis.folding.tree import FOLDINGS, Group
from enginescope.analysis.plan_graph import PlanGraph
from enginescope.core.record import Record
from enginescope.render.graph.canvas_nodes import Names, packed_edges, packed_nodes
from enginescope.render.graph.faces import Times
from enginescope.render.graph.level_layout import GROUP_SIZE, LAYER_SIZE, LevelLayouts
from enginescope.render.graph.packing import packed

if TYPE_CHECKING:
    from enginescope.rules.base import Finding

#: Graphs with more nodes are laid out as a whole only if nothing in them can be folded.
MOST_UNFOLDED = 6_000
#: Graphs with more nodes open folded.
LARGE = 150
_GROUP_KINDS = ("whole", "module", "repeat", "block")


class Canvas(Record, frozen=True, kw_only=True):
    """What the view needs.

    Attributes
    ----------
    data : dict
        For `packing.container`.
    folding : str
        The one it opens with.
    groups : Group
        The tree of that folding.
    """

    data: dict[str, Any]
    folding: str
    groups: Group


def canvas(
    graph: PlanGraph,
    times: Times,
    findings: Mapping[int, Sequence[Finding]],
) -> Canvas:
    """Return the data of the view.

    Parameters
    ----------
    graph : PlanGraph
    times : Times
        Those of no layer, where there is no profile.
    findings : mapping of int to sequence of Finding
        By layer index.
    """
    names = Names()
    trees = _trees(graph)
    layouts = LevelLayouts()
    foldings = {
        folding: _packed_folding(levels(graph, tree), names, layouts)
        for folding, tree in trees.items()
    }
    first = next(iter(trees))
    folding = first if "none" not in trees or len(graph.nodes) > LARGE else "none"
    data = {
        "first": folding,
        "sizes": {"layer": LAYER_SIZE, "group": GROUP_SIZE},
        "total_ms": times.sum_ms if times.mean_ms else None,
        "nodes": packed_nodes(graph, names, times.mean_ms),
        "edges": packed_edges(graph, names),
        "findings": _packed_findings(graph, findings),
        "foldings": foldings,
        "layouts": layouts.packed,
        **names.packed(),
    }
    return Canvas(data=data, folding=folding, groups=trees[folding])


def _trees(graph: PlanGraph) -> dict[str, Group]:
    """Return the foldings there are, modules first."""
    found: dict[str, Group] = {}
    traits = NodeTraits(graph)
    for folding in FOLDINGS:
        if folding == "none" and found and len(graph.nodes) > MOST_UNFOLDED:
            continue
        tree = fold(graph, folding, traits)
        if tree is not None:
            found[folding] = tree
    return found


def _packed_folding(found: Sequence[Level], names: Names, layouts: LevelLayouts) -> dict[str, Any]:
    numbers = names.strings.numbers
    place = {id(one.group): at for at, one in enumerate(found)}
    starts, members, edge_starts, edges = [0], [], [0], []
    for level in found:
        members += [
            one if isinstance(one, int) else -1 - place[id(one)] for one in level.group.members
        ]
        starts.append(len(members))
        edges += [one.edge for one in level.edges]
        edge_starts.append(len(edges))
    groups = [one.group for one in found]
    return {
        "parent": packed("i4", [-1 if one.parent is None else one.parent for one in found]),
        "name": packed("u4", numbers(one.name for one in groups)),
        "path": packed("u4", numbers(one.path for one in groups)),
        "kind": packed("u1", [_GROUP_KINDS.index(one.kind) for one in groups]),
        "copies": packed("u4", [one.copies or 0 for one in groups]),
        "layout": packed("u4", [layouts.number(one) for one in found]),
        "starts": packed("u4", starts),
        "member": packed("i4", members),
        "edgeStarts": packed("u4", edge_starts),
        "edge": packed("u4", edges),
    }


def _packed_findings(graph: PlanGraph, findings: Mapping[int, Sequence[Finding]]) -> dict[str, Any]:
    """Return each finding once, and which nodes have which."""
    number: dict[int, int] = {}
    texts, of_node, of_finding = [], [], []
    for node in graph.nodes:
        for one in findings.get(node.layer.index, ()) if node.layer is not None else ():
            if id(one) not in number:
                number[id(one)] = len(number)
                texts.append([one.code, one.severity.value, one.message, one.advice, one.stake_ms])
            of_node.append(node.id)
            of_finding.append(number[id(one)])
    return {"texts": texts, "node": packed("u4", of_node), "finding": packed("u4", of_finding)}
