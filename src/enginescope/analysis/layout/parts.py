"""Connected parts of a graph, and room for their drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Width over height that many parts together aim at.
_ASPECT = 1.6


def connected_parts(
    count: int, edges: Sequence[tuple[int, int]]
) -> list[tuple[list[int], list[int]]]:
    """Return nodes and edges, by number and ascending, of each part; by its first node."""
    parent = list(range(count))

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for source, target in edges:
        a, b = top(source), top(target)
        parent[max(a, b)] = min(a, b)
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for node in range(count):
        parts.setdefault(top(node), ([], []))[0].append(node)
    for edge, (source, _) in enumerate(edges):
        parts[top(source)][1].append(edge)
    return list(parts.values())


def shelves(sizes: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Return a corner (left, top) for each box, row by row in their order.

    A row ends where it would be wider than the widest box, and than a sheet of a pleasant shape
    with room for all would be.
    """
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    limit = max([math.sqrt(area * _ASPECT), *(width for width, _ in sizes)])
    corners: list[tuple[float, float]] = []
    left = top = tallest = 0.0
    for width, height in sizes:
        if left and left + width > limit:
            left, top, tallest = 0.0, top + tallest + gap, 0.0
        corners.append((left, top))
        left += width + gap
        tallest = max(tallest, height)
    return corners
