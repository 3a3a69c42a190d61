"""Layers by two quantities."""

from collections import Counter
from collections.abc import Collection
from operator import itemgetter

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.card_data import Quantity, clusters, quantity_named
from enginescope.judge.units import counted
from enginescope.render.base.palette import precision_color
from enginescope.render.charts.bars import group_color
from enginescope.render.charts.distribution import log_axis
from enginescope.render.charts.tip_table import NOT_KNOWN, table_of_tips
from enginescope.render.html.images import Chart, Spec, marks, quantity, with_tips


def scatter(
    view: PlanView, *, x: str = "footprint", y: str = "time", kinds: Collection[str] | None = None
) -> Chart | None:
    """Layers as points by two quantities, on logarithmic axes; near ones of a large plan as one.

    Args:
        x, y: Of `layer_quantities.QUANTITIES`: ``"time"``, ``"macs"``, ``"footprint"``,
            ``"intensity"`` …
        kinds: Types of layers; by default all.
    """
    across, up = quantity_named(x), quantity_named(y)
    facts = [row for row in view.facts if kinds is None or row.layer.type in kinds]
    found = clusters(facts, across.value, up.value, lambda row: row.precision or NOT_KNOWN)
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
    tips = {"name": "layer", "type": "type", "x": f"{across.title}#", "y": f"{up.title}#"}
    tips |= {"group": "precision", "layers": "layers#", "ms": "together, ms#"}
    layers = sum(point.layers for point in points)
    note = counted(layers, "layer")
    note += ", near ones as one larger point" if layers > len(points) else ""
    if found.left_out:
        note += f"; {counted(found.left_out, 'layer')} not drawn: a value is 0 or unknown"
    title = f"{_short(up.title).capitalize()} against {_short(across.title)}"
    spec = _spec(rows, tips, across, up)
    table = table_of_tips(sorted(rows, key=itemgetter("y"), reverse=True), tips)
    return Chart(key=f"{x}-{y}", title=title, subtitle=(note,), spec=spec, table=table, height=300)


def _short(title: str) -> str:
    return title.partition(",")[0].partition(":")[0]


def _spec(rows: list[Spec], titles: dict[str, str], across: Quantity, up: Quantity) -> Spec:
    told, tips = with_tips(rows, titles)
    layers = Counter[str]()
    for row in rows:
        layers[row["group"]] += row["layers"]
    color = group_color("precision", [name for name, _ in layers.most_common()], precision_color)
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
