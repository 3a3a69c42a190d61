"""A plan's graph as the page's interactive view is given it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from enginescope.analysis.graph.folding.flow_order import NodeTraits
from enginescope.analysis.graph.folding.fold import fold
from enginescope.analysis.graph.folding.levels import ENTRY, FOLDINGS, Group, Level, levels
from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, Spacing, lay_out
from enginescope.analysis.graph.plan_graph import PlanGraph
from enginescope.core.record import Record
from enginescope.render.base.phrases import saving_text
from enginescope.render.graph.node_labels import Times
from enginescope.render.graph.view.canvas_nodes import Names, packed, packed_edges, packed_nodes

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


#: Pixels; the view draws every layer and every closed group in one size.
LAYER_SIZE = (184.0, 54.0)
GROUP_SIZE = (204.0, 64.0)
#: What is outside of a group lies above and below its members, and takes no room.
_OUTSIDE_SIZE = (60.0, 0.0)
_SPACING = Spacing(beside=26.0, below=38.0, parts=44.0)


class LevelLayouts:
    """Layouts of levels; levels that are alike share one, as the copies of a block do."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}
        self._packed: list[dict[str, Any]] = []

    def number(self, level: Level) -> int:
        """Return the number of the level's layout, which is made if there is none like it."""
        tensors: dict[tuple[int, str], int] = {}
        edges = tuple(
            (edge.source, edge.target, tensors.setdefault((edge.source, edge.key), len(tensors)))
            for edge in level.edges
        )
        is_layer = tuple(isinstance(member, int) for member in level.group.members)
        key = is_layer, edges
        found = self._number.get(key)
        if found is None:
            found = self._number[key] = len(self._packed)
            self._packed.append(_pack(is_layer, edges))
        return found

    @property
    def packed(self) -> list[dict[str, Any]]:
        """Every layout as the page carries it."""
        return self._packed


def _pack(is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    laid_out = _laid_out(is_layer, edges)
    members, count = len(is_layer), len(edges)
    last = int(laid_out.starts[count])
    return {
        "width": round(laid_out.width, 1),
        "height": round(laid_out.height, 1),
        "x": packed("f4", laid_out.x[:members]),
        "y": packed("f4", laid_out.y[:members]),
        "source": packed("i4", [source for source, _, _ in edges]),
        "target": packed("i4", [target for _, target, _ in edges]),
        "starts": packed("u4", laid_out.starts[: count + 1]),
        "points": packed("f4", laid_out.points[:last].ravel()),
        "back": packed("u1", laid_out.is_back[:count]),
    }


def _laid_out(is_layer: Sequence[bool], edges: Sequence[tuple[int, int, int]]) -> LaidOut:
    members = len(is_layer)
    sizes = [LAYER_SIZE if one else GROUP_SIZE for one in is_layer]
    ends = {end for source, target, _ in edges for end in (source, target) if end < 0}
    place = {end: members + at for at, end in enumerate(sorted(ends, reverse=True))}
    sizes += [_OUTSIDE_SIZE] * len(place)
    pairs = [(place.get(a, a), place.get(b, b)) for a, b, _ in edges]
    groups = [tensor for _, _, tensor in edges]
    if place:
        pairs += _held_apart(members, pairs, place)
        groups += range(len(groups), len(pairs))
    table = np.array(sizes, dtype=np.float64).reshape(len(sizes), 2)
    boxes = Boxes(
        widths=table[:, 0].copy(),
        heights=table[:, 1].copy(),
        edges=np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
        groups=np.array(groups, dtype=np.int64),
    )
    return lay_out(boxes, _SPACING)


def _held_apart(
    members: int, pairs: Sequence[tuple[int, int]], place: dict[int, int]
) -> list[tuple[int, int]]:
    """Return edges that are not drawn: they keep what is outside above and below all members."""
    read = {source for source, _ in pairs}
    written = {target for _, target in pairs}
    made = []
    for end, at in place.items():
        if end == ENTRY:
            made += [(at, one) for one in range(members) if one not in written]
        else:
            made += [(one, at) for one in range(members) if one not in read]
    return made


#: Graphs with more nodes are laid out as a whole only if nothing in them can be folded.
MOST_UNFOLDED = 6_000
#: Graphs with more nodes open folded.
LARGE = 150
_GROUP_KINDS = ("whole", "module", "repeat", "block")


class Canvas(Record, frozen=True, kw_only=True):
    """What the view needs.

    Attributes:
        data: For `packing.container`.
        folding: The one it opens with.
        groups: The tree of that folding.
    """

    data: dict[str, Any]
    folding: str
    groups: Group


def canvas(graph: PlanGraph, times: Times, findings: Mapping[int, Sequence[Finding]]) -> Canvas:
    """Return the data of the view.

    Args:
        times: Those of no layer, where there is no profile.
        findings: By layer index.
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
        "total_ms": times.sum_ms if times.time_ms else None,
        "nodes": packed_nodes(graph, names, times.time_ms),
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
            member if isinstance(member, int) else -1 - place[id(member)]
            for member in level.group.members
        ]
        starts.append(len(members))
        edges += [edge.edge for edge in level.edges]
        edge_starts.append(len(edges))
    groups = [one.group for one in found]
    return {
        "parent": packed("i4", [-1 if one.parent is None else one.parent for one in found]),
        "name": packed("u4", numbers(group.name for group in groups)),
        "path": packed("u4", numbers(group.path for group in groups)),
        "kind": packed("u1", [_GROUP_KINDS.index(group.kind) for group in groups]),
        "copies": packed("u4", [group.copies or 0 for group in groups]),
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
                said = saving_text(one.saving)
                texts.append([one.code, one.severity.value, one.message, one.advice, said])
            of_node.append(node.id)
            of_finding.append(number[id(one)])
    return {"texts": texts, "node": packed("u4", of_node), "finding": packed("u4", of_finding)}
