"""What is written on a plan's graph, which color every node and edge has, and the legend to it.

Colors by time: viridis, each step longer than the one before by one factor, up to the slowest.

Steps of equal width would paint all of a plan alike but its one slow layer; how long the layers
are beside it is what their bars are for. The factor is that of the plan: 2, or less where that is
enough to tell nine tenths of its layers apart.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from enginescope.analysis.graph.plan_graph import GraphNode, PlanGraph
from enginescope.core.errors import UsageError
from enginescope.core.process_control import gc_paused
from enginescope.core.record import Record, replace
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.records.plan.plan import Attribution
from enginescope.render.base import palette
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.graph.node_labels import (
    GROUP_CHARACTERS,
    NAME_CHARACTERS,
    USUAL,
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
    graph: PlanGraph, attribution: Attribution | None = None, wording: Wording = USUAL
) -> GraphScene:
    """Return what is to be drawn, with times on layers where they are known."""
    short: dict[str, str] = {}
    for is_group, limit in ((False, NAME_CHARACTERS), (True, GROUP_CHARACTERS)):
        held = (one for one in graph.nodes if one.held_layers)
        named = [one.name for one in held if bool(one.layers) is is_group]
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


class Category(Record, frozen=True, kw_only=True):
    """A color, what has it, and the words of the legend.

    Attributes:
        ink: Color of text on it, where boxes are filled with it; ``None``: boxes are tinted.
    """

    name: str
    color: str
    text: str
    ink: str | None = None


UNTIMED, _NOTHING = "no time", "nothing found"
#: Worst severity → its color, the worst first.
SEVERITIES = {
    "error": palette.VERMILLION,
    "warning": palette.ORANGE,
    "info": palette.SKY,
    _NOTHING: palette.OTHER,
}
COLORINGS = ("type", "precision", "time", "lint")


class _Scale(NamedTuple):
    """The longest time there is, and by what each step is longer than the one before."""

    slowest_ms: float
    factor: float

    def step(self, time_ms: float | None) -> str:
        """Return the place in `AMOUNT_STOPS` as a name."""
        if time_ms is None:
            return UNTIMED
        if not time_ms > 0:
            return "0"
        # logarithms apart: the quotient of extreme times is too large a number
        below = (math.log(self.slowest_ms) - math.log(time_ms)) / math.log(self.factor)
        return str(max(0, len(palette.AMOUNT_STOPS) - 1 - math.floor(below)))

    def ends(self, step: int) -> str:
        """Return the shortest and the longest time of a step."""
        left = len(palette.AMOUNT_STOPS) - 1 - step
        low, high = (self.slowest_ms / self.factor**power for power in (left + 1, left))
        first = format_ms(low, 3).removesuffix(" ms") if step else "0"
        return f"{first} … {format_ms(high, 3)}"


def _scale(given: GraphScene) -> _Scale:
    """The whole plan's, so that a part has the colors of the whole; groups may be slower."""
    times = given.times
    if times is None:
        raise UsageError(
            "colors by time need layer times",
            hint="--profile FILE, as trtexec --exportProfile writes it",
        )
    known = sorted(value for value in times.time_ms.values() if value > 0)
    groups = (times.sum_of_ms(node.layers) for node in given.graph.nodes if node.layers)
    slowest = max([0.0, *known, *(group for group in groups if group is not None)])
    if not known:
        return _Scale(slowest, 2.0)
    factor = (slowest / known[len(known) // 10]) ** (1 / (len(palette.AMOUNT_STOPS) - 1))
    return _Scale(slowest, min(2.0, max(1.1, factor)))


class Paint(Record, frozen=True, kw_only=True):
    """Colors of one drawing.

    Attributes:
        categories: In the legend's order.
        nodes, edges: Each one's place in `categories`; ``None`` for tensors and constants.
        words: What it is colored by.
    """

    categories: tuple[Category, ...]
    nodes: tuple[int | None, ...]
    edges: tuple[int | None, ...]
    words: str


def paint(given: GraphScene, coloring: str) -> Paint:
    """Return the colors of `given`; of a group: what most of its layers have, or the worst."""
    if coloring not in COLORINGS:
        raise UsageError(f"no such coloring: {coloring!r}", hint=", ".join(COLORINGS))
    scale = _scale(given) if coloring == "time" else None
    layers: Counter[str] = Counter()
    time_ms: defaultdict[str, float] = defaultdict(float)
    of_nodes: list[str | None] = []
    for node in given.graph.nodes:
        names = _names(node, given, coloring, scale)
        for name, layer in zip(names, node.held_layers, strict=True):
            layers[name] += 1
            time_ms[name] += given.times.time_ms.get(layer.index, 0.0) if given.times else 0.0
        most = Counter(names).most_common(1)[0][0] if names else None
        worst = next((one for one in SEVERITIES if one in names), None)
        of_nodes.append(worst if coloring == "lint" else most)
    types = [edge.tensor and edge.tensor.dtype for edge in given.graph.edges]
    of_edges = [dtype.value if dtype and coloring == "precision" else None for dtype in types]
    layers.update(dict.fromkeys(filter(None, of_edges), 0))
    orders: dict[str, Callable[[str], Any]] = {
        "time": lambda name: -1 if name == UNTIMED else int(name),
        "lint": lambda name: -list(SEVERITIES).index(name),
    }
    ordered = sorted(sorted(layers), key=lambda name: (time_ms[name], layers[name]), reverse=True)
    if coloring in orders:
        ordered = sorted(layers, key=orders[coloring], reverse=True)
    number: dict[str | None, int] = {name: place for place, name in enumerate(ordered)}
    return Paint(
        categories=tuple(
            _category(name, layers[name], time_ms[name], given.times, coloring, scale)
            for name in ordered
        ),
        nodes=tuple(map(number.get, of_nodes)),
        edges=tuple(map(number.get, of_edges)),
        words={"time": "time of a layer", "lint": "the worst finding"}.get(coloring, coloring),
    )


def _names(node: GraphNode, given: GraphScene, coloring: str, scale: _Scale | None) -> list[str]:
    held, findings = node.held_layers, given.wording.findings
    if scale is not None and given.times is not None:
        return [scale.step(given.times.sum_of_ms(held))] * len(held)
    if coloring == "type":
        return [palette.type_family(layer.type) for layer in held]
    if coloring == "precision":
        return [layer.precision.value if layer.precision else "unknown" for layer in held]
    worst = [findings.get(layer.index) for layer in held]
    return [found[0].severity.value if found else _NOTHING for found in worst]


def _category(
    name: str, layers: int, time_ms: float, times: Times | None, coloring: str, scale: _Scale | None
) -> Category:
    share = ""
    if times is not None and times.sum_ms:
        share = f" · {format_significant(100 * time_ms / times.sum_ms, 3)} %"
    if scale is None:
        own = palette.family_color(name) if coloring == "type" else palette.precision_color(name)
        color = palette.OTHER if name == "unknown" and coloring == "precision" else own
        text = f"{name} {layers:,}{share}" if layers else f"{name} (tensors)"
        return Category(name=name, color=SEVERITIES.get(name, color), text=text)
    count = counted(layers, "layer")
    if name == UNTIMED:
        return Category(name=name, color=palette.OTHER, text=f"no time: {count}")
    step = int(name)
    color, text = palette.AMOUNT_STOPS[step], f"{scale.ends(step)}: {count}{share}"
    return Category(name=name, color=color, ink=palette.ink_on(color), text=text)
