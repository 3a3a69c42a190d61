"""Who says where things lie: our own layout, or Graphviz."""

from __future__ import annotations

import numpy as np

from enginescope.analysis.layout.laid_out import Boxes, LaidOut
from enginescope.analysis.layout.layered import lay_out
from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.core.optional import is_installed
from enginescope.model.notice import Notice
from enginescope.render.graph.graphviz_layout import GraphvizError, graphviz_layout

LAYOUTS = ("auto", "own", "dot")
#: Nodes, and rows of the drawing that edges span, up to which Graphviz took a quarter of a second.
#: Its time follows the spans and not the layers: a mask that every block reads is what it dies of.
AUTO_SIZE = 1_500
#: Seconds: where it is asked for; where it is tried.
_LIMIT_S, _AUTO_LIMIT_S = 120.0, 1.0


def laid_out_by(name: str, boxes: Boxes) -> tuple[LaidOut, Notice | None]:
    """Return places, and what is to be said of how they came about.

    Parameters
    ----------
    name : {"auto", "own", "dot"}
        ``"auto"``: Graphviz for small graphs if it is installed.
    boxes : Boxes

    Raises
    ------
    UsageError
        No such layout.
    MissingDependencyError
        Graphviz is asked for by name and is not installed.
    """
    if name not in LAYOUTS:
        raise UsageError(f"no such layout: {name!r}", hint=", ".join(LAYOUTS))
    is_there = is_installed("pygraphviz")
    if name == "dot" and not is_there:
        raise MissingDependencyError(
            "Python package pygraphviz is not available",
            why="--layout dot needs it",
            hint="pip install 'enginescope[graphviz]', or --layout own",
        )
    own = lay_out(boxes)
    if name == "own" or (name == "auto" and not (is_there and _size(boxes, own) <= AUTO_SIZE)):
        return own, None
    try:
        return graphviz_layout(boxes, _LIMIT_S if name == "dot" else _AUTO_LIMIT_S), None
    except GraphvizError as error:
        notice = Notice(
            code="W-GRAPHVIZ",
            message=f"laid out by enginescope itself: {error}",
            evidence={"nodes": len(boxes.widths), "edges": len(boxes.edges)},
        )
        return own, notice


def _size(boxes: Boxes, own: LaidOut) -> int:
    ends = own.ranks[boxes.edges.reshape(len(boxes.edges), 2)]
    return len(boxes.widths) + int(np.abs(ends[:, 1] - ends[:, 0]).sum())
