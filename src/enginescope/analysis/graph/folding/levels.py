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
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from enginescope.analysis.graph.layout.layered import connected_parts
from enginescope.analysis.graph.plan_graph import EDGE_KINDS, PlanGraph
from enginescope.core.record import Record, replace
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
        copies, period: Of a repeat, and the members of the given graph in each copy.
    """

    name: str
    path: str
    kind: str
    members: tuple[Member, ...]
    copies: int | None = None
    period: int = 1

    @property
    def is_span(self) -> bool:
        """Whether it is named by the first and the last that it holds."""
        return self.kind in ("repeat", "block")

    @property
    def repeat(self) -> str | None:
        """How often what comes again: ``"431 × 8 blocks"``; ``None`` of what is no repeat."""
        if self.copies is None:
            return None
        first = self.members[0]
        held = first.members if self.period > 1 and isinstance(first, Group) else (first,)
        noun = "blocks" if any(isinstance(one, Group) for one in held) else "layers"
        return f"{self.copies:,} {f'× {self.period} ' if self.period > 1 else ''}{noun}"

    @property
    def label(self) -> str:
        """Its whole name, and how often it repeats."""
        return f"{self.path}, {self.repeat}" if self.copies else self.path

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


def opened(whole: Group, most: int) -> tuple[list[Group], tuple[Member, ...]]:
    """Open each module that holds over half of the nodes: folded, it would hide the graph.

    Args:
        most: Boxes that may be seen.

    Returns:
        The open modules, and what is seen: the members of the whole and of these.
    """
    modules: list[Group] = []
    seen = list(whole.members)
    total = sum(1 for _ in whole.nodes())
    while True:
        for at, one in enumerate(seen):
            if isinstance(one, Group) and one.kind == "module":
                fits = len(seen) - 1 + len(one.members) <= most
                if fits and 2 * sum(1 for _ in one.nodes()) > total:
                    modules.append(one)
                    seen[at : at + 1] = one.members
                    break
        else:
            return modules, tuple(seen)


#: Ends of edges that come from outside of a group, or lead there.
ENTRY, EXIT = -1, -2
Numbers = NDArray[np.int64]


class Levels(Record, frozen=True, kw_only=True, eq=False):
    """What is seen inside the whole and inside each group in it.

    Attributes:
        groups: The whole, and each group before the groups in it.
        parents: Number of the group that holds each; -1 for the whole.
        starts, members: Group k has the members ``starts[k]`` to ``starts[k + 1]``: ids of nodes,
            and -1 - number for a group.
        edge_starts: The same of its edges, which are in the order of the graph's.
        sources, targets: Positions among the members; `ENTRY` or `EXIT` for what is outside.
        tensors: Numbers from 0 within the group: edges of one source and tensor have the same.
        edges: Index among the graph's edges: the first of those it stands for.
    """

    groups: tuple[Group, ...]
    parents: Numbers
    starts: Numbers
    members: Numbers
    edge_starts: Numbers
    sources: Numbers
    targets: Numbers
    tensors: Numbers
    edges: Numbers


def levels(graph: PlanGraph, *wholes: Group) -> tuple[Levels, ...]:
    """Return the levels of each folding of a graph.

    An edge between different groups is in each group it leaves, in the one that holds both ends,
    and in each it enters; edges alike in ends and tensor are one.
    """
    kinds = np.array([EDGE_KINDS.index(edge.kind) for edge in graph.edges], dtype=np.int64)
    ends = graph.ends.copy()
    ends[:, 2] = ends[:, 2] * len(EDGE_KINDS) + kinds
    return tuple(_levels(len(graph.nodes), ends, whole) for whole in wholes)


def _levels(nodes: int, ends: Numbers, whole: Group) -> Levels:
    groups = (whole, *whole.groups())
    number = {id(one): -1 - at for at, one in enumerate(groups)}
    every = (member for group in groups for member in group.members)
    listed = [member if isinstance(member, int) else number[id(member)] for member in every]
    members = np.array(listed, dtype=np.int64)
    sizes = [len(group.members) for group in groups]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    # By member: groups, whose numbers are below 0, stand at the end, the whole last.
    holder, place = np.full((2, nodes + len(groups)), -1, dtype=np.int64)
    holder[members] = np.repeat(np.arange(len(groups)), sizes)
    place[members] = np.arange(len(members)) - starts[holder[members]]
    parents = holder[: -1 - len(groups) : -1]
    (level, source, target, edge), keys = _lifted(ends, holder, place, parents)
    edge_starts = np.searchsorted(level, np.arange(len(groups) + 1))
    tensors = _first_seen(level, source, keys)
    return Levels(
        groups=groups,
        parents=parents,
        starts=starts,
        members=members,
        edge_starts=edge_starts,
        sources=source,
        targets=target,
        tensors=tensors - tensors[edge_starts[level]],
        edges=edge,
    )


def _lifted(
    ends: Numbers, holder: Numbers, place: Numbers, parents: Numbers
) -> tuple[Numbers, Numbers]:
    """Return group, source, target and graph's edge of each edge that is seen; and its tensor."""
    depth = [0]
    for above in parents[1:].tolist():  # each before those in it
        depth.append(depth[above] + 1)
    depths = np.array(depth)
    (up, down), (source, target) = holder[ends[:, :2].T], place[ends[:, :2].T]
    seen = []
    crossing = np.arange(len(ends))
    while len(crossing := crossing[up[crossing] != down[crossing]]):
        rises = depths[up[crossing]] >= depths[down[crossing]]
        out, into = crossing[rises], crossing[~rises]
        seen.append((up[out], source[out], np.full(len(out), EXIT), out))
        seen.append((down[into], np.full(len(into), ENTRY), target[into], into))
        for edges, group, at in ((out, up, source), (into, down, target)):
            at[edges] = place[-1 - group[edges]]
            group[edges] = holder[-1 - group[edges]]
    seen.append((up, source, target, np.arange(len(ends))))
    every = np.concatenate([np.stack(columns) for columns in seen], axis=1)
    every = every[:, np.lexsort((every[3], every[0]))]
    keys = ends[every[3], 2]
    alike = _first_seen(*every[:3], keys)
    kept = np.diff(np.maximum.accumulate(alike), prepend=-1) > 0
    return every[:, kept], keys[kept]


def _first_seen(*columns: Numbers) -> Numbers:
    """Return numbers from 0, equal for equal rows, in the order in which these first appear."""
    order = np.lexsort(columns[::-1])
    table = np.stack(columns)[:, order]
    begins = np.concatenate(([True], (table[:, 1:] != table[:, :-1]).any(axis=0)))[: len(order)]
    rank = np.empty(begins.sum(), dtype=np.int64)
    rank[np.argsort(order[begins])] = np.arange(len(rank))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = rank[np.cumsum(begins) - 1]
    return found


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

    Repeated layers side by side whose names differ in numbers alone are one group.

    Args:
        whole: Of `fold`, of the same graph.
    """
    rows: list[tuple[str, int, int]] = []
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
            at = len(rows)
            name = f"{member.name} × {member.copies:,}" if member.copies else member.name
            rows.append((name, parent, len(layers)))
            stops.append(0)
            waiting.append((None, at))
            waiting += [(inner, at) for inner in reversed(_joined(member.members))]
    names, parents, starts = zip(*rows, strict=True)
    return Icicle(
        names=names, parents=parents, starts=starts, stops=tuple(stops), layers=tuple(layers)
    )


def _joined(members: Iterable[Member]) -> list[Member]:
    joined: list[Member] = []
    for member in members:
        left = joined[-1] if joined else None
        if isinstance(member, Group) and isinstance(left, Group) and member.copies and left.copies:
            (first, *_), (*_, last) = left.name.split(" … "), member.name.split(" … ")
            layers = left.members + member.members
            are_layers = all(isinstance(layer, int) for layer in layers)
            if are_layers and re.sub(r"\d+", "", first) == re.sub(r"\d+", "", last):
                name, copies = f"{first} … {last}", left.copies + member.copies
                joined[-1] = replace(left, name=name, copies=copies, members=layers)
                continue
        joined.append(member)
    return joined


NAME = "left out"


def left_out(graph: PlanGraph, kept: Collection[int]) -> Group:
    """Return the whole with one group for each connected run of layers that are not kept.

    Paths between kept nodes stay paths: of two nodes in one group neither lies behind a kept node
    that is behind the other, so that no group leads back into itself. Inputs and outputs stay as
    they are. Linear in nodes and edges.

    Args:
        kept: Node ids.
    """
    stays = [node.id in kept or node.kind in ("input", "output") for node in graph.nodes]
    depth = _depths(graph, stays)
    ends = [(edge.source, edge.target) for edge in graph.edges]
    inner = [(a, b) for a, b in ends if not stays[a] and not stays[b] and depth[a] == depth[b]]
    ordered: list[tuple[int, bool, int, Member]] = []
    for nodes, _ in connected_parts(len(graph.nodes), inner):
        first = nodes[0]
        if not stays[first] and any(graph.nodes[one].held_layers for one in nodes):
            group = Group(name=NAME, path=NAME, kind="rest", members=tuple(nodes))
            ordered.append((depth[first], False, first, group))
        else:
            ordered += [(depth[one], stays[one], one, one) for one in nodes]
    ordered.sort(key=lambda one: one[:3])
    members = tuple(member for *_, member in ordered)
    return Group(name=graph.name, path=graph.name, kind="whole", members=members)


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


Path = tuple[str, ...]

_AROUND = re.compile(r"^(?:PWN\(|\{?ForeignNode\[|\()+|[)\]}]+$")
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
    found = _paths(layer.onnx_nodes)
    if not found:
        name = _COPY.sub("", layer.name)
        parts = re.split(r" \+ |, |\.\.\.(?=/)", name)
        found = _paths([_AROUND.sub("", part) for part in parts])
    if not found:
        return None
    return found[0] if len(found) == 1 else shared_path(found)


def shared_path(paths: Sequence[Path]) -> Path:
    """Return what all `paths` begin with."""
    low, high = min(paths), max(paths)
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
    return tuple(step for step, _ in equal)


def _paths(names: Iterable[str]) -> list[Path]:
    """Return the modules that names with slashes tell; else those that weights' names tell."""
    listed = list(names)
    found = [_steps(one.strip("/").rpartition("/")[0]) for one in listed if "/" in one]
    if found:
        return found
    matches = (_WEIGHTS.match(one) for one in listed)
    return [_of_weights(match[1]) for match in matches if match]


@lru_cache(maxsize=4096)
def _steps(module: str) -> Path:
    """Nodes of a module follow each other: of a large plan's, few are met once."""
    return tuple(filter(None, module.split("/", _DEEPEST)[:_DEEPEST]))


def _of_weights(name: str) -> Path:
    found: list[str] = []
    for step in name.split(".")[:_DEEPEST]:
        found.append(f"{found[-1]}.{step}" if step.isdecimal() and found else step)
    return tuple(found)
