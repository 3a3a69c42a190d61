"""Place the nodes of a layered drawing: their order in each layer, then their coordinates.

Long edges as chains of bends, one per layer that they pass.

Four drawings, each aligning nodes with the median of their neighbors above or below, as far left
or right as they go; each node lies at its median of them. Blocks are placed by longest
paths from the left and then drawn to the right, which needs no classes and so does not have the
fault that the authors' erratum of 2020 mends.

Which edges to turn around so that no cycle is left.
"""

import math
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
    above: list[list[int]] = [[] for _ in rank]
    below: list[list[int]] = [[] for _ in rank]
    graph = Layers(nodes, list(rank), above, below, chains=[None] * len(edges))
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


Order = list[list[int]]


def ordered(graph: Layers) -> tuple[Order, int]:
    """Return the nodes of each layer from left to right, and the crossings left.

    Depth-first to begin with, then sweeps down and up by barycentres, the best of them kept, then
    exchanges of neighbors as long as they help; a bounded number of passes, each linear but for
    sorting (Sugiyama, Tagawa, Toda 1981; Gansner and others 1993).
    """
    order = _first_order(graph)
    size = len(graph.rank)
    sweeps, rounds = (24, 6) if size <= 2_000 else (10, 3) if size <= 20_000 else (6, 2)
    place = _places(order, size)
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


def _number(row: list[int], place: list[int]) -> None:
    for position, node in enumerate(row):
        place[node] = position


def _places(order: Order, size: int) -> list[int]:
    place = [0] * size
    for row in order:
        _number(row, place)
    return place


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
        # neighbors on the other side decide between equal barycentres
        keys = {it: _mean(near[it], place, it) + 1e-4 * _mean(far[it], place, it) for it in row}
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


# How much wider than the narrowest a drawing may be to count: this factor, or a node in pixels.
_MUCH_WIDER, _A_NODE = 1.3, 150.0


@dataclass(frozen=True)
class _View:
    """The graph as one of the four drawings sees it: layers in its order, places mirrored."""

    order: Order
    place: list[int]
    near: list[list[int]]


def horizontal(graph: Layers, order: Order, widths: list[float], gap: float) -> list[float]:
    """Return the x of each node and bend, the leftmost border at 0.

    Args:
        order: Layers from left to right.
        widths: Of nodes and bends.
        gap: Between neighbors in a layer.
    """
    place = _places(order, len(graph.rank))
    above = [sorted(one, key=place.__getitem__) for one in graph.above]
    below = [sorted(one, key=place.__getitem__) for one in graph.below]
    barred = _conflicts(graph, order, place)
    drawings = []
    for near, rows in ((above, order), (below, order[::-1])):
        drawings.append(_drawn(_View(rows, place, near), barred, widths, gap))
        mirrored = _drawn(_mirrored(rows, place, near), barred, widths, gap)
        drawings.append([-one for one in mirrored])
    return _balanced(drawings, widths)


def _mirrored(rows: Order, place: list[int], near: list[list[int]]) -> _View:
    flipped = [0] * len(place)
    for row in rows:
        for node in row:
            flipped[node] = len(row) - 1 - place[node]
    return _View([row[::-1] for row in rows], flipped, [one[::-1] for one in near])


def _conflicts(graph: Layers, order: Order, place: list[int]) -> set[tuple[int, int]]:
    """Pairs (upper, lower) that cross an edge between bends, which is to stay straight."""
    barred: set[tuple[int, int]] = set()
    for upper, row in pairwise(order):
        if len(row) < 2 or len(upper) < 2:
            continue
        low, scanned = 0, 0
        for index, node in enumerate(row):
            ends = graph.above[node]
            is_inner = node >= graph.nodes and ends[0] >= graph.nodes
            if not is_inner and index < len(row) - 1:
                continue
            high = place[ends[0]] if is_inner else len(upper) - 1
            for one in row[scanned : index + 1]:
                for end in graph.above[one]:
                    outside = not low <= place[end] <= high
                    if outside and not (one >= graph.nodes and end >= graph.nodes):
                        barred.add((end, one))
            low, scanned = high, index + 1
    return barred


def _drawn(
    view: _View, barred: set[tuple[int, int]], widths: list[float], gap: float
) -> list[float]:
    root = _aligned(view, barred)
    x = _placed(view.order, root, widths, gap)
    return [x[one] for one in root]


def _aligned(view: _View, barred: set[tuple[int, int]]) -> list[int]:
    """Return for each node the first of the block it is aligned with."""
    place, near = view.place, view.near
    root = list(range(len(place)))
    taken = [False] * len(place)  # whether one of the next layer is aligned with it already
    for row in view.order:
        last = -1
        for node in row:
            ends = near[node]
            if not ends:
                continue
            middle = (len(ends) - 1) // 2
            for end in ends[middle : len(ends) // 2 + 1]:
                if place[end] <= last or taken[end]:
                    continue
                if barred and ((end, node) in barred or (node, end) in barred):
                    continue
                root[node] = root[end]
                taken[end] = True
                last = place[end]
                break
    return root


def _placed(order: Order, root: list[int], widths: list[float], gap: float) -> list[float]:
    """Place blocks by the longest path from the left, then draw them to the right."""
    after: list[list[tuple[int, float]]] = [[] for _ in root]
    waiting = [0] * len(root)
    for row in order:
        for left, right in pairwise(row):
            apart = (widths[left] + widths[right]) / 2 + gap
            after[root[left]].append((root[right], apart))
            waiting[root[right]] += 1
    x = [0.0] * len(root)
    sequence = [node for node, one in enumerate(root) if one == node and not waiting[node]]
    for block in sequence:  # grows while it is walked
        here = x[block]
        for other, apart in after[block]:
            if here + apart > x[other]:
                x[other] = here + apart
            waiting[other] -= 1
            if not waiting[other]:
                sequence.append(other)
    for block in reversed(sequence):
        if after[block]:
            room = min([x[other] - apart for other, apart in after[block]])
            if room > x[block]:
                x[block] = room
    return x


def _balanced(drawings: list[list[float]], widths: list[float]) -> list[float]:
    """Move the drawings onto the narrowest, and take each node's median.

    Those that are much wider are left out: a drawing that leans a little at every fork is a
    diagonal after a thousand of them, and would pull the others along.
    """
    spans = [_span(one, widths) for one in drawings]
    left, right = min(spans, key=lambda span: span[1] - span[0])
    limit = max(_MUCH_WIDER * (right - left), right - left + _A_NODE)
    moved = []
    for index, (drawing, span) in enumerate(zip(drawings, spans, strict=True)):
        if span[1] - span[0] <= limit:
            shift = left - span[0] if index % 2 == 0 else right - span[1]
            moved.append([one + shift for one in drawing])
    low, high = (len(moved) - 1) // 2, len(moved) // 2
    ranked = map(sorted, zip(*moved, strict=True))
    x = [(places[low] + places[high]) / 2 for places in ranked]
    lowest, _ = _span(x, widths)
    return [one - lowest for one in x]


def _span(x: list[float], widths: list[float]) -> tuple[float, float]:
    return (
        min((one - width / 2 for one, width in zip(x, widths, strict=True)), default=math.inf),
        max((one + width / 2 for one, width in zip(x, widths, strict=True)), default=-math.inf),
    )


def against_flow(nodes: int, sources: Sequence[int], targets: Sequence[int]) -> list[bool]:
    """Return for each edge whether it is to be turned around.

    What neither follows nor leads to a cycle is peeled off from both ends. In the core that is
    left, edges to a lower number are turned: afterwards all of the core's edges ascend. Loops
    are never turned.
    """
    core = _peel(nodes, sources, targets)
    core = [a and b for a, b in zip(core, _peel(nodes, targets, sources), strict=True)]
    return [
        core[source] and core[target] and target < source
        for source, target in zip(sources, targets, strict=True)
    ]


def _peel(nodes: int, sources: Sequence[int], targets: Sequence[int]) -> list[bool]:
    """Return which nodes remain when those without incoming edges go, again and again."""
    incoming = [0] * nodes
    after: list[list[int]] = [[] for _ in range(nodes)]
    for source, target in zip(sources, targets, strict=True):
        if source != target:
            incoming[target] += 1
            after[source].append(target)
    ready = [node for node in range(nodes) if not incoming[node]]
    while ready:
        for node in after[ready.pop()]:
            incoming[node] -= 1
            if not incoming[node]:
                ready.append(node)
    return [count > 0 for count in incoming]
