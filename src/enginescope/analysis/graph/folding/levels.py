"""What is seen inside each group of a folded graph: its members and the edges among them."""

from __future__ import annotations

from enginescope.analysis.graph.folding.tree import Group
from enginescope.analysis.graph.plan_graph import GraphEdge, PlanGraph
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record

#: Ends of edges that come from outside of a group, or lead there.
ENTRY, EXIT = -1, -2


class LevelEdge(Record, frozen=True, kw_only=True, gc=False):
    """An edge between members of one group.

    Attributes:
        source, target: Positions among the members; `ENTRY` or `EXIT` for what is outside.
        edge: Index among the graph's edges: the first of those it stands for.
        key: Edges of one source and key carry the same tensor.
    """

    source: int
    target: int
    edge: int
    key: str


class Level(Record, frozen=True, kw_only=True):
    """The inside of one group; `edges` are in the order of the graph's."""

    group: Group
    parent: int | None
    edges: tuple[LevelEdge, ...]


def levels(graph: PlanGraph, whole: Group) -> tuple[Level, ...]:
    """Return the whole and every group in it, each before the groups in it.

    An edge between different groups is in each group it leaves, in the one that holds both ends,
    and in each it enters; edges alike in ends and tensor are one.
    """
    with gc_paused():
        groups = [whole, *whole.groups()]
        number = {id(one): at for at, one in enumerate(groups)}
        parent: list[int | None] = [None] * len(groups)
        place_of_group = [0] * len(groups)
        home, place = [0] * len(graph.nodes), [0] * len(graph.nodes)
        for at, group in enumerate(groups):
            for position, member in enumerate(group.members):
                if isinstance(member, int):
                    home[member], place[member] = at, position
                else:
                    inner = number[id(member)]
                    parent[inner], place_of_group[inner] = at, position
        found = _lifted(graph.edges, (home, place), (parent, place_of_group))
    return tuple(
        Level(group=group, parent=parent[at], edges=tuple(found[at].values()))
        for at, group in enumerate(groups)
    )


_Edges = dict[tuple[int, int, str], LevelEdge]


def _lifted(
    edges: tuple[GraphEdge, ...],
    of_node: tuple[list[int], list[int]],
    of_group: tuple[list[int | None], list[int]],
) -> list[_Edges]:
    (home, place), (parent, place_of_group) = of_node, of_group
    depth = [0] * len(parent)
    for at, above in enumerate(parent):  # each before those in it
        depth[at] = 0 if above is None else depth[above] + 1
    found: list[_Edges] = [{} for _ in parent]
    for index, edge in enumerate(edges):
        key = f"{edge.kind} {edge.tensor.name if edge.tensor else ''}"
        up, source = home[edge.source], place[edge.source]
        down, target = home[edge.target], place[edge.target]
        while up != down:
            if depth[up] >= depth[down]:
                _put(found[up], source, EXIT, (index, key))
                up, source = parent[up] or 0, place_of_group[up]
            else:
                _put(found[down], ENTRY, target, (index, key))
                down, target = parent[down] or 0, place_of_group[down]
        _put(found[up], source, target, (index, key))
    return found


def _put(edges: _Edges, source: int, target: int, what: tuple[int, str]) -> None:
    if (source, target, what[1]) not in edges:
        made = LevelEdge(source=source, target=target, edge=what[0], key=what[1])
        edges[source, target, what[1]] = made
