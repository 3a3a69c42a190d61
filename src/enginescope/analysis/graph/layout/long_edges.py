"""Long edges as chains of bends, one per layer that they pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

#: Bends per node and edge that a drawing may have; what is beyond runs beside the drawing.
_MAX_BENDS = 8


@dataclass(frozen=True)
class Layers:
    """A graph whose edges all join consecutive layers.

    Attributes:
        nodes: Real ones; numbers from there on are bends.
        rank: Of nodes and bends.
        above, below: Neighbours in the layer before and after.
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
    graph: Layers,
    source: int,
    bundle: list[tuple[int, int]],
    edges: Sequence[tuple[int, int]],
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
