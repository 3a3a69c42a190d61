"""Which color every node and edge of a drawing has, and the legend to it.

A plan's graph with what is written on it, before anything has a place.
Colors by time: viridis, each step longer than the one before by one factor, up to the slowest.

Steps of equal width would paint all of a plan alike but its one slow layer; how long the layers
are beside it is what their bars are for. The factor is that of the plan: 2, or less where that is
enough to tell nine tenths of its layers apart.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.gc_paused import gc_paused
from enginescope.core.record import Record, replace
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.plan import Attribution
from enginescope.render.base.palette import ORANGE, OTHER, SKY, VERMILLION
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.graph.categories import (
    Category,
    categories,
    category_of,
    edge_category,
    legend_text,
)
from enginescope.render.graph.node_labels import (
    GROUP_CHARACTERS,
    NAME_CHARACTERS,
    NodeLabel,
    Times,
    Wording,
    face_of,
    times_of,
)

if TYPE_CHECKING:
    from enginescope.rules.base import Finding


class GraphScene(Record, frozen=True, kw_only=True):
    """A graph and its words.

    Attributes:
        faces: One per node.
    """

    graph: PlanGraph
    faces: tuple[NodeLabel, ...]
    times: Times | None
    wording: Wording


def sketch(
    graph: PlanGraph, attribution: Attribution | None = None, wording: Wording | None = None
) -> GraphScene:
    """Return what is to be drawn, with times on layers where they are known."""
    wording = (wording or Wording()).checked()
    short: dict[str, str] = {}
    for is_group, limit in ((False, NAME_CHARACTERS), (True, GROUP_CHARACTERS)):
        named = [
            one.name for one in graph.nodes if one.held_layers and bool(one.layers) is is_group
        ]
        short |= zip(named, shorten_apart(named, limit), strict=True)
    wording = replace(wording, short_names=short)
    times = times_of(attribution)
    with gc_paused():
        faces = tuple(face_of(node, times, wording) for node in graph.nodes)
    return GraphScene(graph=graph, faces=faces, times=times, wording=wording)


def findings_by_layer(findings: Iterable[Finding]) -> Mapping[int, tuple[Finding, ...]]:
    """Return the findings of each layer, the most severe first."""
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda one: -one.severity.weight):
        for index in finding.layers:
            found[index].append(finding)
    return {index: tuple(those) for index, those in found.items()}


#: Viridis at eight equal distances, dark for little.
STEPS = (
    *("#440154", "#46327e", "#365c8d", "#277f8e"),
    *("#1fa187", "#4ac16d", "#a0da39", "#fde725"),
)
_LIGHT_FROM = 4  # steps from here on carry dark text
_LIGHT, _DARK = "#ffffff", "#14171c"
_LEAST_FACTOR, _MOST_FACTOR = 1.1, 2.0
UNTIMED = "no time"


def heat(given: GraphScene) -> tuple[tuple[Category, ...], tuple[str | None, ...]]:
    """Return the steps that occur, the slowest first, and each node's."""
    times = given.times
    if times is None:
        raise UsageError(
            "colors by time need layer times",
            hint="--profile FILE, as trtexec --exportProfile writes it",
        )
    scale = _scale(given, times)
    members: defaultdict[int | None, list[GraphNode]] = defaultdict(list)
    steps = []
    for node in given.graph.nodes:
        steps.append(scale.step(times.sum_of_ms(node.held_layers)))
        if node.held_layers:
            members[steps[-1]].append(node)
    found = [
        _category(step, nodes, scale, times)
        for step, nodes in sorted(
            members.items(), key=lambda one: -1 if one[0] is None else one[0], reverse=True
        )
    ]
    return tuple(found), tuple(
        _name(step) if node.held_layers else None
        for node, step in zip(given.graph.nodes, steps, strict=True)
    )


class _Scale(NamedTuple):
    """The longest time there is, and by what each step is longer than the one before."""

    slowest_ms: float
    factor: float

    def step(self, time_ms: float | None) -> int | None:
        """Return the place in `STEPS`; ``None`` without a time."""
        if time_ms is None:
            return None
        if not time_ms > 0:
            return 0
        # logarithms apart: the quotient of extreme times is too large a number
        below = (math.log(self.slowest_ms) - math.log(time_ms)) / math.log(self.factor)
        return max(0, len(STEPS) - 1 - math.floor(below))

    def end_ms(self, step: int) -> float:
        """Return the longest time of a step."""
        return self.slowest_ms / self.factor ** (len(STEPS) - 1 - step)


def _scale(given: GraphScene, times: Times) -> _Scale:
    """The whole plan's, so that a part has the colors of the whole; groups may be slower."""
    known = sorted(value for value in times.time_ms.values() if value > 0)
    groups = (times.sum_of_ms(node.layers) for node in given.graph.nodes if node.layers)
    slowest = max([0.0, *known, *(group for group in groups if group is not None)])
    if not known:
        return _Scale(slowest, _MOST_FACTOR)
    spread = slowest / known[len(known) // 10]
    factor = spread ** (1 / (len(STEPS) - 1))
    return _Scale(slowest, min(_MOST_FACTOR, max(_LEAST_FACTOR, factor)))


def _name(step: int | None) -> str:
    return UNTIMED if step is None else str(step)


def _category(step: int | None, nodes: list[GraphNode], scale: _Scale, times: Times) -> Category:
    layers = sum(len(node.held_layers) for node in nodes)
    count = f"{layers:,} layer{'s' if layers != 1 else ''}"
    if step is None:
        return Category(name=UNTIMED, color=OTHER, text=f"no time: {count}")
    low = format_ms(scale.end_ms(step - 1), 3).removesuffix(" ms") if step else "0"
    sum_ms = sum(times.sum_of_ms(node.held_layers) or 0.0 for node in nodes)
    share = f" · {format_significant(100 * sum_ms / times.sum_ms, 3)} %" if times.sum_ms else ""
    return Category(
        name=_name(step),
        color=STEPS[step],
        ink=_DARK if step >= _LIGHT_FROM else _LIGHT,
        text=f"{low} … {format_ms(scale.end_ms(step), 3)}: {count}{share}",
    )


#: Worst severity → its color, the worst first.
SEVERITIES = {"error": VERMILLION, "warning": ORANGE, "info": SKY, "nothing found": OTHER}


def severities(given: GraphScene) -> tuple[tuple[Category, ...], tuple[str | None, ...]]:
    """Return the severities that occur, the worst first, and each node's."""
    found = given.wording.findings
    layers: Counter[str] = Counter()
    time_ms: defaultdict[str, float] = defaultdict(float)
    of_nodes: list[str | None] = []
    for node in given.graph.nodes:
        names = set()
        for layer in node.held_layers:
            worst = found.get(layer.index)
            name = worst[0].severity.value if worst else "nothing found"
            names.add(name)
            layers[name] += 1
            if given.times:
                time_ms[name] += given.times.time_ms.get(layer.index, 0.0)
        of_nodes.append(next((severity for severity in SEVERITIES if severity in names), None))
    return tuple(
        Category(
            name=name, color=color, text=legend_text(name, layers[name], time_ms[name], given.times)
        )
        for name, color in SEVERITIES.items()
        if layers[name]
    ), tuple(of_nodes)


COLORINGS = ("type", "precision", "time", "lint")
_WORDS = {"time": "time of a layer", "lint": "the worst finding"}


class Paint(Record, frozen=True, kw_only=True):
    """Colors of one drawing.

    Attributes:
        categories: In the legend's order.
        nodes, edges: Each one's place in `categories`.
        words: What it is colored by.
    """

    categories: tuple[Category, ...]
    nodes: tuple[int | None, ...]
    edges: tuple[int | None, ...]
    words: str


def paint(given: GraphScene, coloring: str) -> Paint:
    """Return the colors of `given`."""
    if coloring not in COLORINGS:
        raise UsageError(f"no such coloring: {coloring!r}", hint=", ".join(COLORINGS))
    of_nodes: tuple[str | None, ...]
    of_edges: tuple[str | None, ...] = (None,) * len(given.graph.edges)
    if coloring == "time":
        found, of_nodes = heat(given)
    elif coloring == "lint":
        found, of_nodes = severities(given)
    else:
        found = categories(given.graph, coloring, given.times)
        of_nodes = tuple(category_of(node, coloring) for node in given.graph.nodes)
        of_edges = tuple(edge_category(edge, coloring) for edge in given.graph.edges)
    number: dict[str | None, int] = {one.name: place for place, one in enumerate(found)}
    return Paint(
        categories=found,
        nodes=tuple(map(number.get, of_nodes)),
        edges=tuple(map(number.get, of_edges)),
        words=_WORDS.get(coloring, coloring),
    )
