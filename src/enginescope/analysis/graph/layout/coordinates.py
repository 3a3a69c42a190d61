"""Horizontal coordinates: Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment".

Four drawings, each aligning nodes with the median of their neighbors above or below, as far left
or right as they go; each node lies at its median of them. Blocks are placed by longest
paths from the left and then drawn to the right, which needs no classes and so does not have the
fault that the authors' erratum of 2020 mends.

Which edges to turn around so that no cycle is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from enginescope.analysis.graph.layout.ordering import Layers, Order

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
    place = [0] * len(graph.rank)
    for row in order:
        for position, node in enumerate(row):
            place[node] = position
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
    for upper, row in itertools.pairwise(order):
        if len(row) < 2 or len(upper) < 2:
            continue
        low, scanned = 0, 0
        for index, node in enumerate(row):
            inner = _inner_above(graph, node)
            if inner is None and index < len(row) - 1:
                continue
            high = place[inner] if inner is not None else len(upper) - 1
            for one in row[scanned : index + 1]:
                for end in graph.above[one]:
                    outside = not low <= place[end] <= high
                    if outside and not (one >= graph.nodes and end >= graph.nodes):
                        barred.add((end, one))
            low, scanned = high, index + 1
    return barred


def _inner_above(graph: Layers, node: int) -> int | None:
    if node >= graph.nodes and graph.above[node][0] >= graph.nodes:
        return graph.above[node][0]
    return None


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
        for left, right in itertools.pairwise(row):
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
    x = []
    for places in zip(*moved, strict=True):
        ranked = sorted(places)
        x.append((ranked[low] + ranked[high]) / 2)
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
