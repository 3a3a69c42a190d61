"""Which edges to turn around so that no cycle is left."""

from __future__ import annotations

from collections.abc import Sequence


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
