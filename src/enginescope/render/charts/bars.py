"""Horizontal bars, one row each, perhaps of several parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from enginescope.render.charts.tooltips import with_tips
from enginescope.render.html.spec import Spec, quantity

ROW_HEIGHT = 19
#: Less than half of a narrow page.
_LABEL_WIDTH = {"expr": "min(330, 0.42 * (containerSize()[0] || 760))"}


def group_color(
    name: str,
    groups: Iterable[str],
    color: Callable[[str | None], str],
    *,
    legend: bool = True,
) -> Spec:
    """Return the channel that gives each group, in the field ``group``, its own colour."""
    domain = list(dict.fromkeys(groups))
    scale = {"domain": domain, "range": [color(one) for one in domain]}
    shown = {"legend": {"title": name, "symbolType": "square"}} if legend else {"legend": None}
    return {"field": "group", "type": "nominal", "scale": scale, **shown}


def bars(rows: list[Spec], x_title: str, tips: dict[str, str], color: Spec) -> Spec:
    """Return bars of the field ``value``, in the order of the rows.

    Args:
        rows: With ``row`` (the same for parts of one bar), ``label``, ``value``, and what `tips`
            and `color` name.
        x_title: With the unit.
        tips: Fields of the tooltip and their titles; ``#`` at the end: a number.
        color: The channel.
    """
    names = {row["row"]: row["label"] for row in rows}
    counts = all(isinstance(row["value"], int) for row in rows)
    whole = {"tickMinStep": 1, "format": ",.0f"} if counts else {}
    told, tips_channel = with_tips(rows, tips)
    return {
        "data": {"values": [{**one, "part": at} for at, one in enumerate(told)]},
        "mark": {"type": "bar", "height": {"band": 0.72}},
        "params": [{"name": "names", "value": names}],
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {
                    "labelExpr": "names[datum.value]",
                    "labelLimit": _LABEL_WIDTH,
                    "ticks": False,
                },
            },
            "x": quantity("value", x_title, axis={"tickCount": 8, **whole}),
            "order": {"field": "part", "type": "quantitative"},
            "color": color,
            "tooltip": tips_channel,
        },
    }


def height_of(rows: list[Spec]) -> int:
    """Return the pixels that so many bars need."""
    return max(40, (ROW_HEIGHT + 4) * len({row["row"] for row in rows}))
