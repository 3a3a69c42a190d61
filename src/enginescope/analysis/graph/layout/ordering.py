"""The order of nodes within their layers, with few crossings.

Long edges as chains of bends, one per layer that they pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Bends per node and edge that a drawing may have; what is beyond runs beside the drawing.
_MAX_BENDS = 8


@dataclass(frozen=True)
class Layers:
    """A graph whose edges all join consecutive layers.

    Attributes:
        nodes: Real ones; numbers from there on are bends.
        rank: Of nodes and bends.
        above, below: Neighbors in the layer before and after.
        chains: Per edge where its line begins, and the bends it passes, in order. It begins at its
            source, or, where edges share bends, at the bend at which it leaves the next shorter
            one. ``None`` if it runs beside the drawing.
    """

    nodes: int
    rank: list[int]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int] | None]


def layered(rank: Sequence[int], edges: Sequence[tuple[int, int]], groups: Sequence[int]) -> Layers:
    """Return the graph with bends on its long edges.

    Edges of one source and group share their bends, so that a tensor which a thousand layers read
    costs its length, not the sum of a thousand lengths. Chains are kept from the shortest on, as
    long as the bends stay within a multiple of the graph's size.
    """
    nodes = len(rank)
    all_ranks = list(rank)
    above: list[list[int]] = [[] for _ in rank]
    below: list[list[int]] = [[] for _ in rank]
    chains: list[list[int] | None] = [None] * len(edges)
    bundles: dict[tuple[int, int], list[int]] = defaultdict(list)
    for edge, (source, _) in enumerate(edges):
        bundles[source, groups[edge]].append(edge)
    left = _MAX_BENDS * (nodes + len(edges))
    lengths = {
        key: max(rank[edges[edge][1]] for edge in bundle) - rank[key[0]]
        for key, bundle in bundles.items()
    }
    kept = set()
    for key in sorted(bundles, key=lengths.__getitem__):
        left -= lengths[key] - 1
        if left < 0:
            break
        kept.add(key)
    graph = Layers(nodes=nodes, rank=all_ranks, above=above, below=below, chains=chains)
    for key, bundle in bundles.items():
        if key in kept:
            _run_together(graph, key[0], [(rank[edges[one][1]], one) for one in bundle], edges)
    return graph


def _run_together(
    graph: Layers, source: int, bundle: list[tuple[int, int]], edges: Sequence[tuple[int, int]]
) -> None:
    """Lay one trail of bends for the edges of `bundle`, given as (rank of the target, edge)."""
    rank, above, below = graph.rank, graph.above, graph.below
    trail = [source]
    joined = set()
    left_at = 0
    for target_rank, edge in sorted(bundle):
        while rank[trail[-1]] < target_rank - 1:
            bend = len(rank)
            rank.append(rank[trail[-1]] + 1)
            above.append([trail[-1]])
            below.append([])
            below[trail[-1]].append(bend)
            trail.append(bend)
        graph.chains[edge] = trail[left_at:]
        left_at = len(trail) - 1
        target = edges[edge][1]
        if target not in joined:
            joined.add(target)
            below[trail[-1]].append(target)
            above[target].append(trail[-1])


#: Sweeps and rounds of exchanges: (nodes and bends up to, sweeps, rounds).
_EFFORT = ((2_000, 24, 6), (20_000, 10, 3))
_EFFORT_ABOVE = (6, 2)
#: Weight of the neighbors on the other side, which decide between equal barycentres.
_TIE = 1e-4

Order = list[list[int]]


def ordered(graph: Layers) -> tuple[Order, int]:
    """Return the nodes of each layer from left to right, and the crossings left.

    Depth-first to begin with, then sweeps down and up by barycentres, the best of them kept, then
    exchanges of neighbors as long as they help; a bounded number of passes, each linear but for
    sorting (Sugiyama, Tagawa, Toda 1981; Gansner and others 1993).
    """
    order = _first_order(graph)
    sweeps, rounds = _effort(len(graph.rank))
    place = [0] * len(graph.rank)
    for row in order:
        _number(row, place)
    best, fewest = [list(row) for row in order], crossings(order, graph, place)
    stale = 0
    for sweep in range(sweeps):
        if not fewest or stale >= max(2, sweeps // 4):
            break
        _sweep(order, graph, place, sweep)
        now = crossings(order, graph, place)
        stale = 0 if now < fewest else stale + 1
        if now < fewest:
            best, fewest = [list(row) for row in order], now
    for row in best:
        _number(row, place)
    for _ in range(rounds):
        if not fewest or not _exchange(best, graph, place):
            break
        fewest = crossings(best, graph, place)
    return best, fewest


def crossings(order: Order, graph: Layers, place: list[int]) -> int:
    """Return the crossings between consecutive layers; `place` is each node's in its layer."""
    total = 0
    for row, following in pairwise(order):
        if len(row) < 2 or len(following) < 2:
            continue
        seen: list[int] = []
        for node in row:
            ends = sorted([place[one] for one in graph.below[node]])
            if seen:
                for end in ends:
                    total += len(seen) - bisect_right(seen, end)
            seen += ends
            seen.sort()  # two sorted runs: linear
    return total


def _effort(size: int) -> tuple[int, int]:
    return next(((a, b) for limit, a, b in _EFFORT if size <= limit), _EFFORT_ABOVE)


def _number(row: list[int], place: list[int]) -> None:
    for position, node in enumerate(row):
        place[node] = position


def _first_order(graph: Layers) -> Order:
    """Depth first along the edges, so that what hangs together stands together."""
    order: Order = [[] for _ in range(max(graph.rank, default=-1) + 1)]
    seen = [False] * len(graph.rank)
    roots = [node for node in range(len(graph.rank)) if not graph.above[node]]
    for root in sorted(roots, key=graph.rank.__getitem__):
        stack = [root]
        while stack:
            node = stack.pop()
            if seen[node]:
                continue
            seen[node] = True
            order[graph.rank[node]].append(node)
            ends = graph.below[node]
            stack += [end for end in reversed(ends) if end < graph.nodes and not seen[end]]
            stack += [end for end in ends if end >= graph.nodes and not seen[end]]
    return order


def _sweep(order: Order, graph: Layers, place: list[int], sweep: int) -> None:
    """Sort each layer by the mean place of its neighbors in the one before, down or up."""
    is_down = sweep % 2 == 0
    near, far = (graph.above, graph.below) if is_down else (graph.below, graph.above)
    flips = sweep % 4 >= 2  # ties the other way round, so that they do not hold a local minimum
    for row in order if is_down else reversed(order):
        if len(row) < 2:
            continue
        if flips:
            row.reverse()
        keys = {}
        for node in row:
            keys[node] = _mean(near[node], place, node) + _TIE * _mean(far[node], place, node)
        row.sort(key=keys.__getitem__)
        _number(row, place)


def _mean(ends: list[int], place: list[int], node: int) -> float:
    if len(ends) == 1:
        return place[ends[0]]
    return sum([place[end] for end in ends]) / len(ends) if ends else place[node]


def _exchange(order: Order, graph: Layers, place: list[int]) -> bool:
    """Exchange neighbors in a layer where that removes crossings; return whether any did."""
    any_better = False
    for row in order:
        for index in range(len(row) - 1):
            left, right = row[index], row[index + 1]
            gain = 0
            for near in (graph.above, graph.below):
                a, b = near[left], near[right]
                if a and b:
                    gain += _gain(a, b, place)
            if gain > 0:
                row[index], row[index + 1] = right, left
                place[left], place[right] = index + 1, index
                any_better = True
    return any_better


def _gain(left: list[int], right: list[int], place: list[int]) -> int:
    """Crossings of two nodes' edges, less those after an exchange."""
    if len(left) == 1 and len(right) == 1:
        a, b = place[left[0]], place[right[0]]
        return (a > b) - (a < b)
    ends = sorted([place[one] for one in right])
    gain = 0
    for one in left:
        a = place[one]
        not_above = bisect_right(ends, a)
        below = bisect_right(ends, a - 1)
        gain += below - (len(ends) - not_above)
    return gain
