"""The whole plan in execution order, and how its time adds up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.liveness import Stretch, stretches
from enginescope.analysis.runs.latency_curves import CumulativePoint, cumulative_time
from enginescope.judge.units import counted, format_significant
from enginescope.render.base.palette import LIGHT, family_color, precision_color, type_family
from enginescope.render.charts.bars import group_color
from enginescope.render.charts.card.wording import NOT_KNOWN, table_of
from enginescope.render.html.images import X_TICKS, Chart, ChartTable, Spec, quantity, tooltip

_ORDERS = ("slowest first", "in the plan's order")


def time_in_order(view: PlanView) -> Chart | None:
    """Time of the layers as they follow each other, colored by kind of work."""
    return _in_order(
        view,
        key="latency-in-order",
        title="Time in the plan's order, colored by kind of work",
        name="kind of work",
        group=lambda row: type_family(row.layer.type),
        color=family_color,
    )


def precision_in_order(view: PlanView) -> Chart | None:
    """The same by the precision of the first input."""
    return _in_order(
        view,
        key="precision-per-layer",
        title="Time in the plan's order, colored by precision",
        name="precision",
        group=lambda row: row.precision or NOT_KNOWN,
        color=precision_color,
    )


def output_precision_in_order(view: PlanView) -> Chart | None:
    """The same by the precision of the first output."""
    return _in_order(
        view,
        key="output-precision-per-layer",
        title="Time in the plan's order, colored by output precision",
        name="output precision",
        group=lambda row: row.output_precision or NOT_KNOWN,
        color=precision_color,
    )


def cumulative(view: PlanView) -> Chart | None:
    """How the layers' times add up, in the plan's order and the slowest first."""
    found = cumulative_time(view.facts)
    if found is None:
        return None
    points = dict(zip(_ORDERS, (found.slowest_first, found.in_order), strict=True))
    rows = [
        {"x": one.layers, "y": one.share_pct, "ms": one.time_ms, "group": name}
        for name, some in points.items()
        for one in some
    ]
    verb = "takes" if found.most_layers == 1 else "take"
    return Chart(
        key="cumulative-latency",
        title=(
            f"{found.most_layers:,} of {counted(found.timed, 'timed layer')} {verb} 80 % "
            "of the time"
        ),
        subtitle=("A straight line in the plan's order: the time is spread evenly over it",),
        spec={
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 2, "interpolate": "linear"},
            "encoding": {
                "x": quantity("x", "layers", scale={"nice": False}, axis=X_TICKS),
                "y": quantity("y", "share of the layers' time, %", scale={"domain": [0, 100]}),
                "color": _line_colors(),
                "strokeDash": {
                    "field": "group",
                    "type": "nominal",
                    "scale": {"domain": list(_ORDERS), "range": [[1, 0], [5, 3]]},
                    "legend": _line_colors()["legend"],
                },
                "tooltip": tooltip(group="order", x="layers#", y="share, %#", ms="ms#"),
            },
        },
        table=table_of(("Layers", "Slowest first, %", "Plan's order, %"), _shares(points)),
        height=220,
    )


def _line_colors() -> Spec:
    scale = {"domain": list(_ORDERS), "range": [LIGHT.accent, family_color("moving data")]}
    return {
        "field": "group",
        "type": "nominal",
        "scale": scale,
        "legend": {"title": "order", "symbolType": "stroke"},
    }


def _shares(points: dict[str, tuple[CumulativePoint, ...]]) -> list[tuple[str, ...]]:
    sides = points.values()
    return [
        (f"{both[0].layers:,}", *(format_significant(one.share_pct, 4) for one in both))
        for both in zip(*sides, strict=True)
    ]


def _in_order(
    view: PlanView,
    *,
    key: str,
    title: str,
    name: str,
    group: Callable[[LayerFacts], str],
    color: Callable[[str | None], str],
) -> Chart | None:
    found = stretches(view.facts, group, lambda row: row.time_ms)
    if not found:
        return None
    return Chart(
        key=key,
        title=title,
        subtitle=stretch_text(found),
        spec=stretch_bars(found, "time, ms", "ms", group_color(name, _order(found), color)),
        table=stretch_table(found, "Time, ms"),
        height=180,
        is_wide=True,
    )


def stretch_text(found: Sequence[Stretch]) -> tuple[str, ...]:
    """Say what one bar is, where it is not one layer."""
    each, left = (one.last - one.first + 1 for one in (found[0], found[-1]))
    if each == 1:
        return ()
    last = f", the last one of {left:,}" if left < each else ""
    return (f"Each bar is the sum of {each:,} layers{last}",)


def stretch_bars(found: Sequence[Stretch], title: str, unit: str, color: Spec) -> Spec:
    """Return bars over positions in the plan, their parts on top of each other."""
    rows = [
        {
            "low": one.first - 0.5,
            "high": one.last + 0.5,
            "layers": place_text(one),
            "largest": one.largest,
            "group": name,
            "value": value,
        }
        for one in found
        for name, value in one.parts
    ]
    gap = 1 if len(found) <= 120 else 0
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "binSpacing": gap},
        "encoding": {
            "x": quantity(
                "low",
                "position among the layers that do work",
                bin="binned",
                scale={"zero": False, "nice": False},
                axis={"grid": False, **X_TICKS, "tickMinStep": 1, "format": ",.0f"},
            ),
            "x2": {"field": "high"},
            "y": quantity("value", title, stack="zero", axis={"tickCount": 5}),
            "color": color,
            "tooltip": tooltip(
                layers="layers", group="color", value=f"{unit}#", largest="largest in it"
            ),
        },
    }


def stretch_table(found: Sequence[Stretch], header: str) -> ChartTable:
    rows = [
        (place_text(one), name, format_significant(value, 4), one.largest)
        for one in found
        for name, value in one.parts
        if value
    ]
    return table_of(("Layers", "Color", header, "Largest in it"), rows)


def place_text(one: Stretch) -> str:
    """Return ``"7"``, or ``"101 … 110"``."""
    return f"{one.first:,}" if one.first == one.last else f"{one.first:,} … {one.last:,}"


def _order(found: Sequence[Stretch]) -> list[str]:
    """Colors, the one with the most first."""
    sums: dict[str, float] = {}
    for one in found:
        for name, value in one.parts:
            sums[name] = sums.get(name, 0.0) + value
    return sorted(sums, key=lambda name: -sums[name])
