"""Layers by two quantities.

What the color of a layer can mean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_clusters import (
    QUANTITIES,
    Cluster,
    Clusters,
    Quantity,
    clusters,
    quantity_named,
)
from enginescope.analysis.roofline.matrix_product import kernel_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.units import counted
from enginescope.render.base.palette import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    OTHER,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.charts.bars import group_color
from enginescope.render.charts.card.wording import NOT_KNOWN, shape, table_of_tips
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, Spec, marks, quantity, with_tips

_IN_TURN = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GREY)


class Coloring(Record, frozen=True, kw_only=True):
    """A property of layers that has a color.

    Attributes:
        name: As a legend says it.
        group: The property of a layer, as text.
        colors: From every group to its own color; ``None``: the palette in its order.
    """

    name: str
    group: Callable[[LayerFacts], str]
    colors: Callable[[str | None], str] | None = None

    def channel(self, groups: Sequence[str]) -> Spec:
        order = list(dict.fromkeys(groups))
        turns = dict(zip(order, _IN_TURN, strict=False))
        return group_color(
            self.name, order, self.colors or (lambda one: turns.get(one or "", OTHER))
        )


GROUPS = {
    "precision": Coloring(
        name="precision", group=lambda row: row.precision or NOT_KNOWN, colors=precision_color
    ),
    "output_precision": Coloring(
        name="output precision",
        group=lambda row: row.output_precision or NOT_KNOWN,
        colors=precision_color,
    ),
    "work": Coloring(
        name="kind of work", group=lambda row: type_family(row.layer.type), colors=family_color
    ),
    "kernel": Coloring(name="kernel", group=lambda row: shape(kernel_of(row.layer))),
}


def coloring_named(name: str) -> Coloring:
    """Return one of `GROUPS`; raise with those that there are."""
    if name not in GROUPS:
        raise UsageError(
            f"{name!r} is not a color of layers",
            why=f"there are {', '.join(GROUPS)}",
            hint="amounts go on an axis" if name in QUANTITIES else did_you_mean(name, GROUPS),
        )
    return GROUPS[name]


def scatter(
    view: PlanView,
    *,
    x: str = "footprint",
    y: str = "time",
    color: str = "precision",
    kinds: Collection[str] | None = None,
) -> Chart | None:
    """Layers as points by two quantities, on logarithmic axes; near ones of a large plan as one.

    Args:
        x, y: Of `layer_quantities.QUANTITIES`: ``"time"``, ``"macs"``, ``"footprint"``,
            ``"intensity"`` …
        color: ``"precision"``, ``"output_precision"``, ``"work"`` or ``"kernel"``.
    """
    coloring = coloring_named(color)
    across, up = quantity_named(x), quantity_named(y)
    facts = [row for row in view.facts if kinds is None or row.layer.type in kinds]
    found = clusters(facts, across.value, up.value, coloring.group)
    if not found.points:
        return None
    points = sorted(found.points, key=lambda one: -one.layers)
    rows: list[Spec] = [
        {
            "name": point.example.layer.name,
            "type": point.example.layer.type,
            "x": point.x,
            "y": point.y,
            "group": point.key,
            "layers": point.layers,
            "ms": point.time_ms,
        }
        for point in points
    ]
    tips = {
        "name": "layer",
        "type": "type",
        "x": f"{across.title}#",
        "y": f"{up.title}#",
        "group": coloring.name,
        "layers": "layers#",
        "ms": "together, ms#",
    }
    return Chart(
        key=f"{x}-{y}",
        title=f"{_short(up.title).capitalize()} against {_short(across.title)}",
        subtitle=_notes(found),
        spec=_spec(rows, tips, across, up, coloring.channel(_legend(points))),
        table=table_of_tips(sorted(rows, key=itemgetter("y"), reverse=True), tips),
        height=300,
    )


def _short(title: str) -> str:
    return title.partition(",")[0].partition(":")[0]


def _legend(points: list[Cluster]) -> list[str]:
    counts: dict[str, int] = {}
    for point in points:
        counts[point.key] = counts.get(point.key, 0) + point.layers
    return sorted(counts, key=lambda name: -counts[name])


def _notes(found: Clusters) -> tuple[str, ...]:
    layers = sum(point.layers for point in found.points)
    together = layers > len(found.points)
    drawn = f"{counted(layers, 'layer')}{', near ones as one larger point' if together else ''}"
    left = (
        f"; {counted(found.left_out, 'layer')} not drawn: a value is 0 or unknown"
        if found.left_out
        else ""
    )
    return (f"{drawn}{left}",)


def _spec(
    rows: list[Spec], titles: dict[str, str], across: Quantity, up: Quantity, color: Spec
) -> Spec:
    told, tips = with_tips(rows, titles)
    several = any(row["layers"] > 1 for row in rows)
    size = quantity("layers", "layers in a point", scale={"range": [30, 400]})
    return marks(
        told,
        {"type": "point", "filled": True, "size": 55, "opacity": 0.7},
        x=quantity("x", across.title, **log_axis([row["x"] for row in rows])),
        y=quantity("y", up.title, **log_axis([row["y"] for row in rows])),
        color=color,
        # legends of equal names become one
        shape={**color, "scale": {"domain": color["scale"]["domain"]}},
        **({"size": size} if several else {}),
        tooltip=tips,
    )
