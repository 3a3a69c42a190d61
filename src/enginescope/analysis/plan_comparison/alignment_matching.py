"""Match layers of two plans: by names first, then by what they are and their place in the order."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Protocol

import numpy as np
import numpy.typing as npt

from enginescope.analysis.graph.layout.layered import connected_parts
from enginescope.analysis.plan_comparison.alignment_side import Key, Matching, Side, is_numbered
from enginescope.records.plan.plan import Evidence

#: A node in more layers than this on one side says nothing of either.
MAX_LAYERS_OF_NODE = 16
#: A group larger than this on both sides says nothing.
MAX_GROUP = 16


def numbers_agree(a: Side, b: Side) -> bool:
    """Whether names that are mere numbers, such as ``Conv_12``, mean the same in both plans.

    Two exports of one network count differently: a node of the same number is another one. Graphs
    that hold the very same nodes were executed from one model.
    """
    if a.model is not None and a.model == b.model:
        return True
    numbered = [_unique_numbers(side) for side in (a, b)]
    fewer = min(map(len, numbered))
    shared = numbered[0].keys() & numbered[1].keys()
    if not shared or 2 * len(shared) < fewer:
        return False
    agreeing = 0
    for number in shared:
        one, other = (side[number] for side in numbered)
        alike = len(a.nodes[one]) > 1 and a.nodes[one] == b.nodes[other]
        agreeing += alike or a.first_out[one] == b.first_out[other]
    return 4 * agreeing >= 3 * len(shared)


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
    common: set[str] = set()
    for side in (found.a, found.b):
        uses = Counter(node for nodes in side.nodes for node in nodes)
        common |= {node for node, count in uses.items() if count > MAX_LAYERS_OF_NODE}
    nodes_a = _usable(found.a, found.free_a(), common, numbers=numbers)
    nodes_b = _usable(found.b, found.free_b(), common, numbers=numbers)
    for group_a, group_b in _joined(nodes_a, nodes_b):
        for one, other in _one_to_one(found, group_a, group_b):
            if min(len(one), len(other)) <= MAX_GROUP:
                mine = frozenset().union(*(nodes_a[position] for position in one))
                theirs = frozenset().union(*(nodes_b[position] for position in other))
                score = len(mine & theirs) / len(mine | theirs)
                found.add(one, other, Evidence.ONNX_NODES, score)


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
    layers = enumerate(side.nodes)
    return {node: at for at, nodes in layers for node in nodes if uses[node] == 1}


def _unique_names(side: Side) -> dict[str, int]:
    count = Counter(side.names)
    return {name: one for one, name in enumerate(side.names) if count[name] == 1}


def _joined(
    nodes_a: dict[int, frozenset[str]], nodes_b: dict[int, frozenset[str]]
) -> list[tuple[list[int], list[int]]]:
    """Connected sets of layers of A and B, each edge holding most of the nodes of one end."""
    layers_of: dict[str, list[int]] = defaultdict(list)
    for position, nodes in nodes_b.items():
        for node in nodes:
            layers_of[node].append(position)
    first = 1 + max(nodes_a, default=-1)  # the layers of B are counted from here
    edges = []
    for one, nodes in nodes_a.items():
        shared = Counter(other for node in nodes for other in layers_of.get(node, ()))
        for other, count in shared.items():
            if 2 * count > min(len(nodes), len(nodes_b[other])):
                edges.append((one, first + other))
    groups = []
    for positions, joined in connected_parts(first + 1 + max(nodes_b, default=-1), edges):
        if joined:
            cut = bisect_left(positions, first)
            groups.append((positions[:cut], [position - first for position in positions[cut:]]))
    return groups


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


#: Layers of the longer side that are weighed against each other at once.
WINDOW = 512
#: How many groups apart two layers may be that swapped places.
SLACK = 4

# Scores in hundredths, so that sums are exact.
_NAME, _EXACT, _LOOSE, _WEAK, _FLOW = 90, 80, 70, 40, 5

_Ints = npt.NDArray[np.int32]
_Pair = tuple[int, int]


class _Keys(Protocol):
    """Something to know a position by."""

    def __getitem__(self, position: int, /) -> Key: ...


class Likeness:
    """How like any two free layers are, from numbers that stand for their keys.

    Args:
        found: Its groups so far say which neighbors correspond.
        strict: Whether shapes have to agree, or only channels.
        numbers: Whether names that are mere numbers count.
    """

    def __init__(self, found: Matching, *, strict: bool, numbers: bool) -> None:
        a, b = found.a, found.b
        self._free = found.free_a(), found.free_b()
        self._size = len(a), len(b)
        self._name = self._numbered(_names(a, numbers=numbers), _names(b, numbers=numbers))
        levels = [(a.exact, b.exact, _EXACT), (a.loose, b.loose, _LOOSE)]
        if not strict:
            levels.append((a.weak, b.weak, _WEAK))
        self._levels = [(self._numbered(one, other), score) for one, other, score in levels]
        self._above, self._below = (
            self._numbered(_Groups(found.of_a, one), _Groups(found.of_b, other))
            for one, other in ((a.producers, b.producers), (a.consumers, b.consumers))
        )

    def _numbered(self, a: _Keys, b: _Keys) -> tuple[_Ints, _Ints]:
        """Numbers of the free layers that are equal where keys are; −1 and −2 where none is."""
        numbers: dict[Key, int] = {}
        sides = []
        for keys, free, size, none in zip((a, b), self._free, self._size, (-1, -2), strict=True):
            side = np.full(size, none, dtype=np.int32)
            side[free] = [
                none if (k := keys[p]) is None else numbers.setdefault(k, len(numbers))
                for p in free
            ]
            sides.append(side)
        return sides[0], sides[1]

    def table(self, a: Sequence[int], b: Sequence[int]) -> _Ints:
        """Score of each layer of `a` (rows) with each of `b`; 0: not the same work."""
        rows, columns = np.asarray(a, dtype=np.intp), np.asarray(b, dtype=np.intp)

        def equal(keys: tuple[_Ints, _Ints]) -> npt.NDArray[np.bool_]:
            return np.asarray(keys[0][rows][:, None] == keys[1][columns][None, :])

        score = np.zeros((len(rows), len(columns)), dtype=np.int32)
        for keys, worth in reversed(self._levels):
            score[equal(keys)] = worth
        score[equal(self._name) & (score > 0)] = _NAME
        alike = score > 0
        for keys in (self._above, self._below):
            score += _FLOW * (alike & equal(keys))
        return score

    def shared(self, a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return those of `a` and of `b` that have their like on the other side."""
        keys_a, keys_b = self._levels[-1][0]
        mine, theirs = keys_a[np.asarray(a)], keys_b[np.asarray(b)]
        found_a, found_b = np.isin(mine, theirs).tolist(), np.isin(theirs, mine).tolist()
        return list(compress(a, found_a)), list(compress(b, found_b))

    def same_name(self, one: int, other: int) -> bool:
        """Whether a layer of A and one of B have one name that counts."""
        return bool(self._name[0][one] == self._name[1][other])

    def keys(self, *, above: bool, below: bool) -> tuple[list[Key], list[Key]]:
        """Return, for either side, what a layer is together with its neighbors' groups."""
        level = self._levels[-1][0]
        used = [level, *([self._above] if above else []), *([self._below] if below else [])]
        sides: list[list[Key]] = []
        for side in (0, 1):
            columns = [keys[side].tolist() for keys in used]
            sides.append([None if min(row) < 0 else row for row in zip(*columns, strict=True)])
        return sides[0], sides[1]


def _names(side: Side, *, numbers: bool) -> list[Key]:
    both = zip(side.names, side.numbered, strict=True)
    return [None if numbered and not numbers else name for name, numbered in both]


class _Groups:
    """Groups of the neighbors of each position; ``None`` if one has none."""

    def __init__(self, of: list[int], neighbours: list[tuple[int, ...]]) -> None:
        self._of, self._neighbours = of, neighbours

    def __getitem__(self, position: int) -> Key:
        found = sorted({self._of[one] for one in self._neighbours[position]})
        return None if found and found[0] < 0 else tuple(found)


def match_in_order(found: Matching, *, strict: bool, numbers: bool) -> None:
    """Pair free layers that are alike and stand in the same order between those paired before.

    Linear in the layers: between two groups the order of most likeness is found in windows of
    `WINDOW` layers. Then what is like and has only swapped places, up to `SLACK` groups away.
    """
    if -1 not in found.of_a or -1 not in found.of_b:
        return
    likeness = Likeness(found, strict=strict, numbers=numbers)
    for free_a, free_b in gaps(found):
        for one, other in _in_windows(*likeness.shared(free_a, free_b), likeness):
            if likeness.same_name(one, other):
                found.add([one], [other], Evidence.NAME, _NAME / 100)
            else:
                found.add([one], [other], Evidence.STRUCTURE, _base(found, one, other) / 100)
    likeness = Likeness(found, strict=strict, numbers=numbers)
    neighbours = [(True, True), (True, False), (False, True)]
    for above, below in neighbours + [(False, False)] * strict:
        for one, other in list(_near(found, *likeness.keys(above=above, below=below))):
            found.add([one], [other], Evidence.STRUCTURE, _base(found, one, other) / 100)


def score_structure(found: Matching) -> None:
    """Set the score of pairs by structure, now that their neighbors are known."""
    a, b = found.a, found.b
    ends = (
        (_Groups(found.of_a, a.producers), _Groups(found.of_b, b.producers)),
        (_Groups(found.of_a, a.consumers), _Groups(found.of_b, b.consumers)),
    )
    for group in found.groups:
        if group.evidence is Evidence.STRUCTURE:
            one, other = group.a[0], group.b[0]
            keys = [(mine[one], theirs[other]) for mine, theirs in ends]
            same = sum(key is not None and key == its for key, its in keys)
            group.score = (_base(found, one, other) + _FLOW * same) / 100


def _base(found: Matching, one: int, other: int) -> int:
    """Score of a layer of A with one of B, their neighbors left aside."""
    a, b = found.a, found.b
    if a.exact[one] == b.exact[other]:
        return _EXACT
    return _LOOSE if a.loose[one] == b.loose[other] else _WEAK


def gaps(found: Matching) -> Iterator[tuple[list[int], list[int]]]:
    """Free layers of A and of B between two neighbors of the backbone."""
    free_a, free_b = found.free_a(), found.free_b()
    at_a = at_b = 0
    for stop_a, stop_b in (*found.backbone(), (len(found.a), len(found.b))):
        end_a, end_b = bisect_left(free_a, stop_a, at_a), bisect_left(free_b, stop_b, at_b)
        if end_a > at_a and end_b > at_b:
            yield free_a[at_a:end_a], free_b[at_b:end_b]
        at_a, at_b = end_a, end_b


def _in_windows(a: list[int], b: list[int], likeness: Likeness) -> Iterator[_Pair]:
    """Best order-preserving pairs of two runs of layers; windows overlap by half."""
    longer = max(len(a), len(b), 1)
    high, wide = (max(64, round(WINDOW * len(run) / longer)) for run in (a, b))
    at_a = at_b = 0
    while at_a < len(a) and at_b < len(b):
        rows, columns = a[at_a : at_a + high], b[at_b : at_b + wide]
        path = _best_path(likeness.table(rows, columns))
        last = at_a + high >= len(a) and at_b + wide >= len(b)
        kept = [p for p in path if last or p[0] < high // 2 or p[1] < wide // 2]
        for row, column in kept:
            yield rows[row], columns[column]
        if last:
            return
        row, column = kept[-1] if kept else (-1, -1)
        # What comes before the rest of the path, or in the first half, had its chance.
        after = path[len(kept)] if len(kept) < len(path) else (high // 2, wide // 2)
        at_a, at_b = at_a + max(row + 1, after[0]), at_b + max(column + 1, after[1])


def _best_path(score: _Ints) -> list[_Pair]:
    """Rising pairs of row and column with the largest sum of scores (a weighted longest run)."""
    height, width = score.shape
    best = np.zeros((height + 1, width + 1), dtype=np.int32)
    for row in range(height):
        above = best[row]
        with_pair = np.where(score[row] > 0, above[:-1] + score[row], 0)
        np.maximum.accumulate(np.maximum(above[1:], with_pair), out=best[row + 1, 1:])
    path = []
    row, column = height, width
    while row and column:
        here = best[row, column]
        if here == best[row - 1, column]:
            row -= 1
        elif here == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            path.append((row, column))
    return path[::-1]


def _near(found: Matching, keys_a: list[Key], keys_b: list[Key]) -> Iterator[_Pair]:
    """Free layers with equal keys whose places in the backbone are at most `SLACK` apart."""
    backbone = found.backbone()
    ranks_a, ranks_b = [one for one, _ in backbone], [other for _, other in backbone]
    waiting: dict[Key, list[int]] = {}
    for other in found.free_b():
        if keys_b[other] is not None:
            waiting.setdefault(keys_b[other], []).append(other)
    reached = dict.fromkeys(waiting, 0)
    for one in found.free_a():
        key = keys_a[one]
        queue = waiting.get(key, [])
        rank = bisect_left(ranks_a, one)
        at = reached.get(key, 0)
        while at < len(queue) and bisect_left(ranks_b, queue[at]) < rank - SLACK:
            at += 1
        if at < len(queue) and bisect_left(ranks_b, queue[at]) <= rank + SLACK:
            yield one, queue[at]
            at += 1
        reached[key] = at
