"""What is seen inside each group of a folded graph: its members and the edges among them.

A plan's graph as a tree of groups.
Groups as ranges of one order of layers.
Groups of what is left out between the nodes that are kept.
The module a layer comes from, as its ONNX nodes' names tell it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from enginescope.analysis.graph.plan_graph import GraphEdge, PlanGraph
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer

#: Ways to fold: by the modules in ONNX names, by blocks that repeat, not at all.
FOLDINGS = ("module", "block", "none")


class Group(Record, frozen=True, kw_only=True):
    """Nodes that belong together.

    Attributes:
        name: As shown within the group that holds it.
        path: The whole name.
        kind: ``"repeat"`` holds equal ``"block"`` groups; its nodes are alike copy by copy.
        members: Node ids and groups, so that edges within one iteration lead forwards.
        copies: Of a repeat.
    """

    name: str
    path: str
    kind: str
    members: tuple[Member, ...]
    copies: int | None = None

    def nodes(self) -> Iterator[int]:
        """Yield the ids of the nodes in it, those of groups in it too."""
        waiting: list[Member] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, int):
                yield one
            else:
                waiting += reversed(one.members)

    def groups(self) -> Iterator[Group]:
        """Yield the groups in it, each before those in it."""
        waiting = [member for member in reversed(self.members) if isinstance(member, Group)]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += [inner for inner in reversed(one.members) if isinstance(inner, Group)]


Member = int | Group


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


class Icicle(Record, frozen=True, kw_only=True):
    """Groups as ranges of `layers`; each group comes before the groups in it.

    Attributes:
        names: Of the groups; the first is the whole plan.
        parents: Number of the group that holds each; -1 for the whole.
        starts, stops: Range of `layers`.
        layers: Index of each layer, in the order of the groups.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    layers: tuple[int, ...]


def icicle(graph: PlanGraph, whole: Group) -> Icicle:
    """Return the groups of a folded graph; a group that holds one group alone is left out.

    Args:
        whole: Of `fold`, of the same graph.
    """
    names: list[str] = []
    parents: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    layers: list[int] = []
    waiting: list[tuple[Member | None, int]] = [(whole, -1)]
    while waiting:
        member, parent = waiting.pop()
        if member is None:
            stops[parent] = len(layers)
        elif isinstance(member, int):
            layers += [layer.index for layer in graph.nodes[member].held_layers]
        elif parent >= 0 and len(member.members) == 1 and isinstance(member.members[0], Group):
            waiting.append((member.members[0], parent))
        else:
            at = len(names)
            names.append(f"{member.name} × {member.copies:,}" if member.copies else member.name)
            parents.append(parent)
            starts.append(len(layers))
            stops.append(0)
            waiting.append((None, at))
            waiting += [(inner, at) for inner in reversed(member.members)]
    return Icicle(
        names=tuple(names),
        parents=tuple(parents),
        starts=tuple(starts),
        stops=tuple(stops),
        layers=tuple(layers),
    )


NAME = "left out"
_ALWAYS = ("input", "output")


def left_out(graph: PlanGraph, kept: Collection[int]) -> Group:
    """Return the whole with one group for each connected run of layers that are not kept.

    Paths between kept nodes stay paths: of two nodes in one group neither lies behind a kept node
    that is behind the other, so that no group leads back into itself. Inputs and outputs stay as
    they are. Linear in nodes and edges.

    Args:
        kept: Node ids.
    """
    stays = [node.id in kept or node.kind in _ALWAYS for node in graph.nodes]
    depth = _depths(graph, stays)
    top = _runs(graph, stays, depth)
    runs: dict[int, list[int]] = {}
    for node, first in enumerate(top):
        if not stays[node]:
            runs.setdefault(first, []).append(node)
    members: list[tuple[int, bool, int, Member]] = [
        (depth[node], True, node, node) for node, does in enumerate(stays) if does
    ]
    for first, nodes in runs.items():
        if any(graph.nodes[one].held_layers for one in nodes):
            group = Group(name=NAME, path=NAME, kind="block", members=tuple(nodes))
            members.append((depth[first], False, first, group))
        else:
            members += [(depth[one], False, one, one) for one in nodes]
    members.sort(key=lambda one: one[:3])
    return Group(
        name=graph.name,
        path=graph.name,
        kind="whole",
        members=tuple(member[3] for member in members),
    )


def _depths(graph: PlanGraph, stays: list[bool]) -> list[int]:
    """How many kept nodes lie at most on a way to each node; nodes stand in execution order."""
    into: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        if edge.source < edge.target:
            into[edge.target].append(edge.source)
    depth = [0] * len(graph.nodes)
    for node, sources in enumerate(into):
        depth[node] = max((depth[source] + stays[source] for source in sources), default=0)
    return depth


def _runs(graph: PlanGraph, stays: list[bool], depth: list[int]) -> list[int]:
    """The first node of each one's run."""
    parent = list(range(len(graph.nodes)))

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for edge in graph.edges:
        a, b = edge.source, edge.target
        if not stays[a] and not stays[b] and depth[a] == depth[b]:
            first, second = sorted((top(a), top(b)))
            parent[second] = first
    return [top(node) for node in range(len(parent))]


Path = tuple[str, ...]

_JOINT = re.compile(r" \+ |, |\.\.\.(?=/)")
_AROUND = re.compile(r"^(?:PWN\(|\{?ForeignNode\[|\()+|[)\]}]+$")
_BRACKET = re.compile(r"[(\[)\]}]")
#: TensorRT's own layers bear the name of the layer they serve.
_COPY = re.compile(r"^Reformatting CopyNode for (?:Input|Output) Tensor \d+ (?:to|from) ")
_WEIGHTS = re.compile(r"^([A-Za-z_]\w*(?:\.\w+)+)\.(?:weight|bias|kernel|scale)$")
# Deeper than any framework nests its modules; a name of slashes only must not cost more.
_DEEPEST = 16


def module_path(layer: Layer) -> Path | None:
    """Return the innermost module that holds all of a layer's nodes; ``None`` if no name has one.

    ``/blocks.3/attn/qkv/MatMul`` is in ``("blocks.3", "attn", "qkv")``; a weight's name tells its
    module too: ``blocks.3.attn.weight`` is in ``("blocks", "blocks.3", "attn")``, as PyTorch names
    nodes. ``()``: they share no module.
    """
    found = _paths(layer.onnx_nodes) or _paths(_parts(layer.name))
    if not found:
        return None
    return found[0] if len(found) == 1 else shared_path(found)


def shared_path(paths: Sequence[Path]) -> Path:
    """Return what all `paths` begin with."""
    low, high = min(paths), max(paths)
    if low == high:
        return low
    count = 0
    for one, other in zip(low, high, strict=False):
        if one != other:
            break
        count += 1
    return low[:count]


def _parts(name: str) -> list[str]:
    if name.startswith("Reformatting"):
        name = _COPY.sub("", name)
    return [_AROUND.sub("", one) if _BRACKET.search(one) else one for one in _JOINT.split(name)]


def _paths(names: Iterable[str]) -> list[Path]:
    """Return the modules that names with slashes tell; else those that weights' names tell."""
    listed = list(names)
    found = [_of_node(one) for one in listed if "/" in one]
    if found:
        return found
    matches = (_WEIGHTS.match(one) for one in listed)
    return [_of_weights(match[1]) for match in matches if match]


def _of_node(name: str) -> Path:
    return _steps(name.strip("/").rpartition("/")[0])


@lru_cache(maxsize=4096)
def _steps(module: str) -> Path:
    """Nodes of a module follow each other: of a large plan's, few are met once."""
    return tuple(filter(None, module.split("/", _DEEPEST)[:_DEEPEST]))


def _of_weights(name: str) -> Path:
    found: list[str] = []
    for step in name.split(".")[:_DEEPEST]:
        found.append(f"{found[-1]}.{step}" if step.isdecimal() and found else step)
    return tuple(found)
