"""A plan's graph, folded."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.graph.folding.flow_order import NodeTraits, by_module
from enginescope.analysis.graph.folding.levels import FOLDINGS, Group, Member
from enginescope.analysis.graph.plan_graph import GraphEdge, GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, replace


class Run(Record, frozen=True, kw_only=True, gc=False):
    """`copies` equal stretches of `period` elements, from `start`."""

    start: int
    period: int
    copies: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.start + self.period * self.copies


def repeats(signature: Sequence[int], cut_widths: Sequence[int] | None = None) -> tuple[Run, ...]:
    """Return runs that do not overlap, in the sequence's order.

    The run that spares the most elements comes first, then the best of what is left beside it.
    Where a run could begin at several places, it begins where the least is cut.

    Args:
        signature: Equal numbers for equal elements.
        cut_widths: One more than elements: what crosses the cut before each and after the last.
    """
    numbers = np.asarray(signature, dtype=np.int64)
    cuts = np.zeros(len(numbers) + 1, dtype=np.int64)
    if cut_widths is not None:
        cuts = np.asarray(cut_widths, dtype=np.int64)
    found: list[Run] = []
    for _ in range(3):
        fresh = _round(numbers, cuts)
        if not fresh:
            break
        found += fresh
        for run in fresh:
            # Each with a number of its own, so that no later run reaches over it.
            place = slice(run.start, run.stop)
            numbers[place] = -1 - np.arange(run.start, run.stop)
    return tuple(sorted(found, key=lambda one: one.start))


def _round(numbers: np.ndarray, cuts: np.ndarray) -> list[Run]:
    """Return the best runs that do not overlap each other as they were found."""
    stretches = [found for period in _periods(numbers) for found in _stretches(numbers, period)]
    stretches.sort(key=lambda one: (-one[0], one[1], one[2]))
    taken = np.zeros(len(numbers), dtype=bool)
    chosen = []
    for _, period, start, length in stretches[:20_000]:  # some sequences repeat a little everywhere
        place = slice(start, start + length)
        if not taken[place].any():
            taken[place] = True
            chosen.append(_phased(start, period, length, cuts))
    return chosen


def _stretches(numbers: np.ndarray, period: int) -> list[tuple[int, int, int, int]]:
    """Return (elements spared, period, start, length) of where elements equal those before."""
    same = (numbers[:-period] == numbers[period:]).view(np.int8)
    edges = np.flatnonzero(np.diff(same, prepend=0, append=0)).reshape(-1, 2)
    lengths = edges[:, 1] - edges[:, 0] + period
    spared = (lengths // period - 1) * period
    keep = spared >= 3  # less is not worth a group
    columns = (column[keep].tolist() for column in (spared, edges[:, 0], lengths))
    return [(a, period, b, c) for a, b, c in zip(*columns, strict=True)]


def _phased(start: int, period: int, length: int, cuts: np.ndarray) -> Run:
    copies = length // period
    borders = np.arange(copies + 1) * period
    shifts = range(start, start + length - copies * period + 1)
    first = min(shifts, key=lambda shift: (int(cuts[borders + shift].sum()), shift))
    return Run(start=first, period=period, copies=copies)


def _periods(numbers: np.ndarray) -> list[int]:
    """Return distances at which stretches of 1, 2, 4 … elements come again, the frequent ones."""
    most = min(len(numbers) // 2, 4096)
    found: set[int] = set()
    stretches, length = numbers, 1
    while True:
        order = np.argsort(stretches, kind="stable")
        is_other = np.diff(stretches[order]) != 0
        gaps = np.diff(order)[~is_other]
        gaps = gaps[gaps <= most]
        if not len(gaps):
            return sorted(found)
        often = np.bincount(gaps)
        top = np.argsort(-often, kind="stable")[:12]
        found.update(top[often[top] > 0].tolist())
        ranks = np.zeros(len(order), dtype=np.int64)
        ranks[order[1:]] = np.cumsum(is_other)
        stretches = ranks[:-length] * (int(ranks.max()) + 1) + ranks[length:]
        length *= 2


#: Modules with more members than this have those that repeat folded.
LONG = 24


def by_block(traits: NodeTraits) -> tuple[Member, ...] | None:
    """Return the members of the whole; ``None`` if no stretch of layers comes again."""
    first, middle, last = traits.by_end
    members = _Folder(traits).folded(middle)
    if not any(isinstance(member, Group) for member in members):
        return None
    return (*first, *members, *last)


def with_long_modules_folded(traits: NodeTraits, members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Fold what repeats among the members of each module that has many."""
    folder = _Folder(traits)

    def shortened(members: tuple[Member, ...]) -> tuple[Member, ...]:
        inner = tuple(
            member
            if isinstance(member, int)
            else replace(member, members=shortened(member.members))
            for member in members
        )
        return folder.folded(inner) if len(inner) > LONG else inner

    return shortened(members)


class _Folder:
    """Folds sequences of members; equal layers have equal numbers throughout."""

    def __init__(self, traits: NodeTraits) -> None:
        self._traits = traits
        self._graph, self._of_node = traits.graph, traits.kinds
        self._first_number = max(self._of_node, default=-1) + 1
        self._number: dict[Any, int] = {}  # of groups
        self._runs: dict[tuple[int, ...], tuple[Run, ...]] = {}

    def folded(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return `members` with each stretch that repeats as one group."""
        signature = tuple(map(self._of_member, members))
        runs = self._runs.get(signature)
        if runs is None:
            nodes = [(it,) if isinstance(it, int) else tuple(it.nodes()) for it in members]
            runs = self._runs[signature] = repeats(signature, self._traits.cut_widths(nodes))
        made: list[Member] = []
        at = 0
        for run in runs:
            made += members[at : run.start]
            made.append(self._repeat(members[run.start : run.stop], run))
            at = run.stop
        return (*made, *members[at:])

    def _repeat(self, members: Sequence[Member], run: Run) -> Group:
        copies: tuple[Member, ...] = tuple(members)
        if run.period > 1:
            starts = range(0, len(members), run.period)
            copies = tuple(self._copy(members[start : start + run.period]) for start in starts)
        name, path = (self._span(members, which) for which in ("name", "path"))
        group = Group(name=name, path=path, kind="repeat", members=copies)
        return replace(group, copies=run.copies, period=run.period)

    def _copy(self, members: Sequence[Member]) -> Group:
        name, path = (self._span(members, which) for which in ("name", "path"))
        return Group(name=name, path=path, kind="block", members=self.folded(members))

    def _span(self, members: Sequence[Member], which: str) -> str:
        """Return the names that a stretch holds: its first and its last."""
        ends = []
        for at in (0, -1):
            one = members[at]
            while isinstance(one, Group) and one.is_span:
                one = one.members[at]
            name = self._graph.nodes[one].name if isinstance(one, int) else getattr(one, which)
            ends.append(name)
        return " … ".join(ends)

    def _of_member(self, member: Member) -> int:
        if isinstance(member, int):
            return self._of_node[member]
        key = (member.copies, *map(self._of_member, member.members))
        return self._number.setdefault(key, self._first_number + len(self._number))


def fold(graph: PlanGraph, folding: str, traits: NodeTraits | None = None) -> Group | None:
    """Return the groups of `graph`; ``None`` if there is nothing to be folded that way.

    Args:
        folding: By the modules in ONNX names; by stretches of layers that repeat, equal in type,
            shapes and data types; or every node for itself.
        traits: Of its nodes, where it is folded in several ways.
    """
    if folding not in FOLDINGS:
        raise UsageError(f"no such folding: {folding!r}", hint=", ".join(FOLDINGS))
    traits = traits or NodeTraits(graph)
    with gc_paused():
        members: tuple[Member, ...] | None = tuple(node.id for node in graph.nodes)
        if folding == "module":
            members = by_module(traits)
            members = with_long_modules_folded(traits, members) if members else None
        elif folding == "block":
            members = by_block(traits)
    if members is None:
        return None
    return Group(name=graph.name, path=graph.name, kind="whole", members=members)


def folded(graph: PlanGraph, whole: Group) -> PlanGraph:
    """Return the graph with each group directly in `whole` as one node.

    Edges that begin and end at the same nodes and carry the same tensor are one; those within a
    group are left out.
    """
    place: dict[int, int] = {}
    nodes = []
    for at, member in enumerate(whole.members):
        if isinstance(member, int):
            place[member] = at
            nodes.append(replace(graph.nodes[member], id=at))
            continue
        inside = tuple(member.nodes())
        place.update(dict.fromkeys(inside, at))
        held = (graph.nodes[one].layer for one in inside)
        layers = tuple(layer for layer in held if layer is not None)
        nodes.append(GraphNode(id=at, kind="group", name=member.label, layers=layers))
    edges: dict[tuple[int, int, str, str, bool], GraphEdge] = {}
    for edge in graph.edges:
        source, target = place[edge.source], place[edge.target]
        if source == target and edge.source != edge.target:
            continue
        name = edge.tensor.name if edge.tensor else ""
        made = replace(edge, source=source, target=target)
        edges.setdefault((source, target, edge.kind, name, edge.is_carried), made)
    return PlanGraph(name=graph.name, nodes=tuple(nodes), edges=tuple(edges.values()))
