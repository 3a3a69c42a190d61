"""Where everything of a graph lies."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record


class Boxes(Record, frozen=True, kw_only=True, eq=False):
    """A graph to lay out.

    Attributes
    ----------
    widths, heights : numpy.ndarray, shape (n,), float64
        Of the nodes, in pixels.
    edges : numpy.ndarray, shape (m, 2), int64
        Source and target of each edge; repeats and loops are allowed. Nodes that lie in cycles
        are drawn in the order of their numbers as far as the cycles allow.
    groups : numpy.ndarray, shape (m,), int64, or None
        Edges of one source and group run together as far as they go the same way, as one tensor
        does that several layers read. By default each source is one group.
    """

    widths: np.ndarray
    heights: np.ndarray
    edges: np.ndarray
    groups: np.ndarray | None = None


class LaidOut(Record, frozen=True, kw_only=True, eq=False):
    """Positions: y grows downwards and along the edges; nothing is left of or above 0.

    Attributes
    ----------
    x, y : numpy.ndarray, shape (n,), float64
        Centres of the nodes, in pixels.
    widths, heights : numpy.ndarray, shape (n,), float64
    ranks : numpy.ndarray, shape (n,), int64
        Layer of the drawing, from 0 at the top of each connected part.
    points : numpy.ndarray, shape (p, 2), float64
        Of all edges one after the other, each from its source's border to its target's; edges of
        one group that run together for a while are one line there: the longer begins on the
        shorter, where they part.
    starts : numpy.ndarray, shape (m + 1,), int64
        Edge k has the points ``starts[k]`` to ``starts[k + 1]``.
    is_back : numpy.ndarray, shape (m,), bool
        Whether the edge runs upwards, to close a cycle; loops are.
    width, height : float
        Of the whole.
    crossings : int or None
        Between consecutive layers; ``None`` if they were not counted.
    is_curved : bool
        Points are those of cubic curves: one, then three for each.
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
