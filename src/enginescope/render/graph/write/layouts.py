"""Who says where things lie: our own layout, or Graphviz."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import msgspec
import numpy as np

from enginescope.analysis.graph.layout.coordinates import against_flow
from enginescope.analysis.graph.layout.layered import Boxes, LaidOut, Spacing, lay_out
from enginescope.core.errors import EnginescopeError, MissingDependencyError, UsageError
from enginescope.core.optional import is_installed
from enginescope.judge.notice import Notice

_POINTS_PER_INCH = 72.0
_LAST_WORDS = 200


class GraphvizError(EnginescopeError):
    """Graphviz gave no layout."""


class _Object(msgspec.Struct):
    name: str
    pos: str = ""


class _Edge(msgspec.Struct):
    id: str
    pos: str = ""


class _Answer(msgspec.Struct):
    bb: str
    objects: list[_Object] = []
    edges: list[_Edge] = []


def graphviz_layout(boxes: Boxes, limit_s: float) -> LaidOut:
    """Return the drawing as ``dot`` lays it out, in a process of its own.

    Edges that close a cycle are those that our own layout turns around too.

    Raises:
        GraphvizError: It is not installed, ended otherwise than well, or took longer than
            `limit_s`.
    """
    edges = boxes.edges.reshape(len(boxes.edges), 2)
    sources, targets = edges[:, 0].tolist(), edges[:, 1].tolist()
    turned = against_flow(len(boxes.widths), sources, targets)
    asked = "".join(_question(boxes, list(zip(sources, targets, turned, strict=True))))
    return _read(boxes, turned, _answered(asked, limit_s))


def _question(boxes: Boxes, edges: list[tuple[int, int, bool]]) -> Iterator[str]:
    """DOT with sizes only: no words, so that fonts play no part."""
    space = Spacing()
    yield "digraph {\n"
    yield f"ranksep={_inches(space.below)} nodesep={_inches(space.beside)}\n"
    yield 'node [shape=box fixedsize=true label=""]\nedge [arrowhead=none]\n'
    for node, (width, height) in enumerate(
        zip(boxes.widths.tolist(), boxes.heights.tolist(), strict=True)
    ):
        yield f"{node} [width={_inches(width)} height={_inches(height)}]\n"
    for edge, (source, target, is_turned) in enumerate(edges):
        first, last = (target, source) if is_turned else (source, target)
        yield f"{first} -> {last} [id={edge}]\n"
    yield "}\n"


def _inches(pixels: float) -> str:
    return f"{pixels / _POINTS_PER_INCH:.4f}"


def _answered(asked: str, limit_s: float) -> _Answer:
    command = [sys.executable, "-m", "enginescope.render.graph.write.graphviz_child"]
    try:
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GraphvizError("Graphviz gave no layout", why=f"not within {limit_s:g} s") from error
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][-_LAST_WORDS:]
        end = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        raise GraphvizError("Graphviz gave no layout", why=f"{end}: {words}" if words else end)
    try:
        return msgspec.json.decode(done.stdout, type=_Answer)
    except msgspec.DecodeError as error:
        raise GraphvizError("Graphviz gave no layout", why=str(error)) from error


def _read(boxes: Boxes, turned: list[bool], answer: _Answer) -> LaidOut:
    _, _, width, height = map(float, answer.bb.split(","))
    places = {int(one.name): one.pos for one in answer.objects}
    at = np.array(
        [[float(part) for part in places[node].split(",")] for node in range(len(boxes.widths))],
        dtype=np.float64,
    ).reshape(len(boxes.widths), 2)
    lines: list[list[list[float]]] = [[] for _ in turned]
    for edge in answer.edges:
        points = [[float(part) for part in point.split(",")] for point in edge.pos.split()]
        lines[int(edge.id)] = points[::-1] if turned[int(edge.id)] else points
    starts = np.zeros(len(lines) + 1, dtype=np.int64)
    np.cumsum([len(line) for line in lines], out=starts[1:])
    flat = [point for line in lines for point in line]
    points_xy = np.array(flat, dtype=np.float64).reshape(len(flat), 2)
    y = height - at[:, 1]
    loops = boxes.edges.reshape(len(boxes.edges), 2)
    return LaidOut(
        x=at[:, 0],
        y=y,
        widths=boxes.widths,
        heights=boxes.heights,
        ranks=np.unique(y.round(1), return_inverse=True)[1].reshape(len(y)).astype(np.int64),
        points=np.column_stack([points_xy[:, 0], height - points_xy[:, 1]]),
        starts=starts,
        is_back=np.array(turned, dtype=bool) | (loops[:, 0] == loops[:, 1]),
        width=width,
        height=height,
        crossings=None,
        is_curved=True,
    )


LAYOUTS = ("auto", "own", "dot")
#: Nodes, and rows of the drawing that edges span, up to which Graphviz took a quarter of a second.
#: Its time follows the spans and not the layers: a mask that every block reads is what it dies of.
AUTO_SIZE = 1_500
#: Seconds: where it is asked for; where it is tried.
_LIMIT_S, _AUTO_LIMIT_S = 120.0, 1.0


def laid_out_by(name: str, boxes: Boxes) -> tuple[LaidOut, Notice | None]:
    """Return places, and what is to be said of how they came about.

    Args:
        name: ``"auto"``: Graphviz for small graphs if it is installed.

    Raises:
        UsageError: No such layout.
        MissingDependencyError: Graphviz is asked for by name and is not installed.
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
