"""Layers of the drawing for an acyclic graph."""

from __future__ import annotations

from collections.abc import Sequence

Neighbours = Sequence[Sequence[int]]


def ranks(before: Neighbours, after: Neighbours) -> list[int]:
    """Return a rank for each node, every edge leading to a higher one.

    First the longest path from a source, which puts all at the top and makes edges out of late
    sources long. Then, from the end backwards, a node whose outgoing edges are not fewer than its
    incoming ones goes down to its consumers; from the start, one with more incoming edges goes up
    again. Each step shortens the edges in sum, or leaves it.

    Args:
        before, after: Predecessors and successors of each node; no cycles.
    """
    order = topological(before, after)
    rank = [0] * len(before)
    for node in order:
        rank[node] = max((rank[one] for one in before[node]), default=-1) + 1
    for _ in range(2):
        _sink(order[::-1], rank, before, after)
        _rise(order, rank, before, after)
    lowest = min(rank, default=0)
    return [one - lowest for one in rank]


def topological(before: Neighbours, after: Neighbours) -> list[int]:
    """Return the nodes, each behind its predecessors."""
    waiting = [len(one) for one in before]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while it is walked
        for one in after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    return order


def _sink(order: Sequence[int], rank: list[int], before: Neighbours, after: Neighbours) -> None:
    for node in order:
        if after[node] and len(after[node]) >= len(before[node]):
            rank[node] = min([rank[one] for one in after[node]]) - 1


def _rise(order: Sequence[int], rank: list[int], before: Neighbours, after: Neighbours) -> None:
    for node in order:
        if before[node] and len(before[node]) > len(after[node]):
            rank[node] = max([rank[one] for one in before[node]]) + 1
