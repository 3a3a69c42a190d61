"""Layers that are known by name: their own, or those of the ONNX nodes in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from enginescope.analysis.plan_comparison.alignment_side import Matching, Side, is_numbered
from enginescope.records.plan.plan import Evidence

#: A node in more layers than this on one side says nothing of either.
MAX_LAYERS_OF_NODE = 16
#: A group larger than this on both sides says nothing.
MAX_GROUP = 16
# Numbers are trusted if this share of those of the smaller plan is in the other one too, and if
# this share of the layers that have them in common give the same shape.
_MIN_COVERAGE = 0.5
_MIN_AGREEMENT = 0.75


def numbers_agree(a: Side, b: Side) -> bool:
    """Whether names that are mere numbers, such as ``Conv_12``, mean the same in both plans.

    Two exports of one network count differently: a node of the same number is another one.
    """
    numbered = [_unique_numbers(side) for side in (a, b)]
    fewer = min(map(len, numbered))
    shared = numbered[0].keys() & numbered[1].keys()
    if not shared or len(shared) < _MIN_COVERAGE * fewer:
        return False
    agreeing = sum(_alike(a, numbered[0][one], b, numbered[1][one]) for one in shared)
    return agreeing >= _MIN_AGREEMENT * len(shared)


def match_names(found: Matching, *, numbers: bool) -> None:
    """Pair layers whose name is unique on both sides, and whose ONNX nodes do not contradict.

    Args:
        numbers: Whether names that are mere numbers count.
    """
    a, b = found.a, found.b
    in_b = _unique_names(b)
    for name, one in _unique_names(a).items():
        other = in_b.get(name)
        if other is None or (a.numbered[one] and not numbers):
            continue
        if a.nodes[one] == b.nodes[other]:
            score = 1.0 if a.loose[one] == b.loose[other] else 0.9
            found.add([one], [other], Evidence.NAME, score)


def match_nodes(found: Matching, *, numbers: bool) -> None:
    """Group layers by the ONNX nodes that they share.

    Layers belong together if one has more than half of its nodes in the other. A layer that was
    split, or several that were fused, come together so, and one shared node does not join what is
    otherwise apart.
    """
    common = _common(found.a) | _common(found.b)
    nodes_a = _usable(found.a, found.free_a(), common, numbers=numbers)
    nodes_b = _usable(found.b, found.free_b(), common, numbers=numbers)
    for group_a, group_b in _joined(nodes_a, nodes_b):
        for one, other in _one_to_one(found, group_a, group_b):
            if min(len(one), len(other)) <= MAX_GROUP:
                mine = frozenset().union(*(nodes_a[position] for position in one))
                theirs = frozenset().union(*(nodes_b[position] for position in other))
                score = len(mine & theirs) / len(mine | theirs)
                found.add(one, other, Evidence.ONNX_NODES, score)


def _common(side: Side) -> set[str]:
    uses = Counter(node for nodes in side.nodes for node in nodes)
    return {node for node, count in uses.items() if count > MAX_LAYERS_OF_NODE}


def _usable(
    side: Side, positions: Iterable[int], common: set[str], *, numbers: bool
) -> dict[int, frozenset[str]]:
    """Nodes of each position that tell it from others."""
    return {
        position: frozenset(
            node
            for node in side.nodes[position]
            if node not in common and (numbers or not is_numbered(node))
        )
        for position in positions
    }


def _unique_numbers(side: Side) -> dict[str, int]:
    """Node whose name is a mere number -> the only layer that has it."""
    uses = Counter(node for nodes in side.nodes for node in nodes if is_numbered(node))
    return {
        node: position
        for position, nodes in enumerate(side.nodes)
        for node in nodes
        if uses[node] == 1
    }


def _unique_names(side: Side) -> dict[str, int]:
    count = Counter(side.names)
    return {name: one for one, name in enumerate(side.names) if count[name] == 1}


def _alike(a: Side, one: int, b: Side, other: int) -> bool:
    if a.first_out[one] == b.first_out[other]:
        return True
    return len(a.nodes[one]) > 1 and a.nodes[one] == b.nodes[other]


def _joined(
    nodes_a: dict[int, frozenset[str]], nodes_b: dict[int, frozenset[str]]
) -> list[tuple[list[int], list[int]]]:
    """Connected sets of layers of A and B, each edge holding most of the nodes of one end."""
    layers_of: dict[str, list[int]] = defaultdict(list)
    for position, nodes in nodes_b.items():
        for node in nodes:
            layers_of[node].append(position)
    sets = _Sets()
    for one, nodes in nodes_a.items():
        shared = Counter(other for node in nodes for other in layers_of.get(node, ()))
        for other, count in shared.items():
            if 2 * count > min(len(nodes), len(nodes_b[other])):
                sets.join(("a", one), ("b", other))
    return sets.split()


class _Sets:
    """Disjoint sets of positions of either side."""

    def __init__(self) -> None:
        self._parent: dict[tuple[str, int], tuple[str, int]] = {}

    def _root(self, one: tuple[str, int]) -> tuple[str, int]:
        self._parent.setdefault(one, one)
        while self._parent[one] != one:
            self._parent[one] = self._parent[self._parent[one]]
            one = self._parent[one]
        return one

    def join(self, one: tuple[str, int], other: tuple[str, int]) -> None:
        self._parent[self._root(one)] = self._root(other)

    def split(self) -> list[tuple[list[int], list[int]]]:
        found: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
        for side, position in sorted(self._parent):
            parts = found.setdefault(self._root((side, position)), ([], []))
            parts[side == "b"].append(position)
        return list(found.values())


def _one_to_one(
    found: Matching, group_a: Sequence[int], group_b: Sequence[int]
) -> list[tuple[Sequence[int], Sequence[int]]]:
    """Take several and several apart, if each has its like in order; none where names repeat."""
    names = {found.a.names[one] for one in group_a} | {found.b.names[one] for one in group_b}
    if len(names) == 1 < max(len(group_a), len(group_b)):
        return []  # a name that many bear is left to their order
    if len(group_a) == len(group_b):
        both = list(zip(group_a, group_b, strict=True))
        if all(found.a.loose[one] == found.b.loose[other] for one, other in both):
            return [([one], [other]) for one, other in both]
    return [(group_a, group_b)]
