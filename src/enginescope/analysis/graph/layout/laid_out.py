"""Where everything of a graph lies."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record


class Boxes(Record, frozen=True, kw_only=True, eq=False):
    """A graph to lay out.

    Attributes:
        widths, heights: Of the nodes, in pixels.
        edges: Source and target of each edge; repeats and loops are allowed. Nodes that lie in
            cycles are drawn in the order of their numbers as far as the cycles allow.
        groups: Edges of one source and group run together as far as they go the same way, as one
            tensor does that several layers read. By default each source is one group.
    """

    widths: np.ndarray
    heights: np.ndarray
    edges: np.ndarray
    groups: np.ndarray | None = None


class LaidOut(Record, frozen=True, kw_only=True, eq=False):
    """Positions: y grows downwards and along the edges; nothing is left of or above 0.

    Attributes:
        x, y: Centres of the nodes, in pixels.
        ranks: Layer of the drawing, from 0 at the top of each connected part.
        points: Of all edges one after the other, each from its source's border to its target's;
            edges of one group that run together for a while are one line there: the longer begins
            on the shorter, where they part.
        starts: Edge k has the points ``starts[k]`` to ``starts[k + 1]``.
        is_back: Whether the edge runs upwards, to close a cycle; loops are.
        width, height: Of the whole.
        crossings: Between consecutive layers; ``None`` if they were not counted.
        is_curved: Points are those of cubic curves: one, then three for each.
    """

    x: np.ndarray
    y: np.ndarray
    widths: np.ndarray
    heights: np.ndarray
    ranks: np.ndarray
    points: np.ndarray
    starts: np.ndarray
    is_back: np.ndarray
    width: float
    height: float
    crossings: int | None
    is_curved: bool = False

    def route(self, edge: int) -> np.ndarray:
        """Return the points of one edge, shape (k, 2)."""
        return self.points[self.starts[edge] : self.starts[edge + 1]]
