"""Layers by two quantities.

What the color of a layer can mean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

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
from enginescope.judge.units import counted, format_significant
from enginescope.render.base.palette import (
    AMOUNTS,
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
from enginescope.render.charts.card.wording import NOT_KNOWN, figure, shape, table_of
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, with_tips

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
#: Few numbers, so that they have room below a short scale.
AMOUNT_LEGEND = {
    "titleLimit": 400,
    "gradientLength": 200,
    "tickCount": 3,
    "labelOverlap": "greedy",
    "labelSeparation": 6,
}
#: What `color` can be anywhere.
COLORS = (*GROUPS, *QUANTITIES)


def check_color(color: str) -> None:
    if color not in COLORS:
        raise UsageError(
            f"{color!r} is not a color of layers",
            why=f"there are {', '.join(COLORS)}",
            hint=did_you_mean(color, COLORS),
        )


def amount_channel(name: str) -> Spec:
    """Return the channel of an amount, in the field ``shade``; gray where it is not known."""
    return {
        "condition": {"test": "!isValid(datum.shade)", "value": OTHER},
        "field": "shade",
        "type": "quantitative",
        "title": QUANTITIES[name].title,
        "scale": {"scheme": AMOUNTS, "zero": True},
        "legend": AMOUNT_LEGEND,
    }


def color_channel(color: str, groups: Sequence[str]) -> Spec:
    """Return the channel for `color`; `groups` are those of the rows, in the legend's order."""
    return GROUPS[color].channel(groups) if color in GROUPS else amount_channel(color)


def color_fields(color: str, row: LayerFacts) -> Spec:
    if color in GROUPS:
        return {"group": GROUPS[color].group(row)}
    return {"shade": QUANTITIES[color].value(row)}


def color_title(color: str) -> str:
    """Return what the color means, as it stands within a title."""
    return GROUPS[color].name if color in GROUPS else QUANTITIES[color].title


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
    if color not in GROUPS:
        raise UsageError(
            f"{color!r} is not a color of points",
            why=f"there are {', '.join(GROUPS)}",
            hint="amounts go on an axis" if color in COLORS else None,
        )
    across, up = quantity_named(x), quantity_named(y)
    rows = [row for row in view.facts if kinds is None or row.layer.type in kinds]
    found = clusters(rows, across.value, up.value, GROUPS[color].group)
    if not found.points:
        return None
    points = sorted(found.points, key=lambda one: -one.layers)
    return Chart(
        key=f"{x}-{y}",
        title=f"{_short(up.title).capitalize()} against {_short(across.title)}",
        subtitle=_notes(found),
        spec=_spec(points, across, up, color_channel(color, _legend(points))),
        table=_table(points, across, up, GROUPS[color].name),
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


def _spec(points: list[Cluster], across: Quantity, up: Quantity, color: Spec) -> Spec:
    rows = [
        {
            "x": point.x,
            "y": point.y,
            "group": point.key,
            "layers": point.layers,
            "ms": point.time_ms,
            "name": point.example.layer.name,
            "type": point.example.layer.type,
        }
        for point in points
    ]
    titles = {
        "name": "layer",
        "type": "type",
        "x": f"{across.title}#",
        "y": f"{up.title}#",
        "group": "color",
        "layers": "layers#",
        "ms": "together, ms#",
    }
    told, tips = with_tips(rows, titles)
    several = any(point.layers > 1 for point in points)
    size = quantity("layers", "layers in a point", scale={"range": [30, 400]})
    return {
        "data": {"values": told},
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.7},
        "encoding": {
            "x": quantity("x", across.title, **log_axis([point.x for point in points])),
            "y": quantity("y", up.title, **log_axis([point.y for point in points])),
            "color": color,
            "shape": {
                "field": "group",
                "type": "nominal",
                "legend": color.get("legend"),  # equal ones become one
                "scale": {"domain": color["scale"]["domain"]},
            },
            **({"size": size} if several else {}),
            "tooltip": tips,
        },
    }


def _table(points: list[Cluster], across: Quantity, up: Quantity, color: str) -> ChartTable:
    ranked = sorted(points, key=lambda one: -one.y)
    return table_of(
        (up.title.capitalize(), across.title.capitalize(), color.capitalize(), "Layers", "Slowest"),
        [
            (
                format_significant(one.y, 4),
                format_significant(one.x, 4),
                one.key,
                figure(one.layers, 1),
                one.example.layer.name,
            )
            for one in ranked
        ],
    )
