"""Horizontal bars, one row each, perhaps of several parts.

What a build spent its time on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from enginescope.analysis.build_log.build_log_summary import tuning_costs, tuning_total_s
from enginescope.core.units import format_significant
from enginescope.records.plan.build_trace import BuildTrace
from enginescope.render.base.phrases import shorten
from enginescope.render.charts.tooltips import with_tips
from enginescope.render.html.images import Chart, Spec, quantity, tooltip

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
    """Return the channel that gives each group, in the field ``group``, its own color."""
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


_MOST = 15
_NAME_LENGTH = 44
_ROW_HEIGHT = 19


def tuning_bars(story: BuildTrace) -> Chart | None:
    """The layers whose tuning took longest; ``None`` where the log does not time it."""
    total_s = tuning_total_s(story)
    costs = [cost for cost in tuning_costs(story) if cost.tuning_s]
    if not total_s or not costs:
        return None
    rows = [
        {
            "row": f"{rank:03}",
            "label": shorten(one.name or f"unnamed: {one.kind}s", _NAME_LENGTH),
            "name": one.name or f"unnamed: {one.kind}s",
            "s": one.tuning_s,
            "share": one.share_pct,
            "trials": one.trials,
        }
        for rank, one in enumerate(costs[:_MOST])
    ]
    share = sum(cost.share_pct or 0.0 for cost in costs[:_MOST])
    part = f"{format_significant(share)} % of {format_significant(total_s)} s"
    return Chart(
        key="build_tuning",
        title="Layers by what their tuning took",
        subtitle=(f"{len(rows)} of {len(costs):,} timed entries: {part}",),
        spec=_spec(rows),
        height=_ROW_HEIGHT * len(rows),
    )


def _spec(rows: list[Spec]) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": {"band": 0.72}},
        "params": [{"name": "names", "value": {row["row"]: row["label"] for row in rows}}],
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelExpr": "names[datum.value]", "labelLimit": 330, "ticks": False},
            },
            "x": quantity("s", "time of tuning, s", axis={"tickCount": 8}),
            "tooltip": tooltip(
                name="layer", s="tuning, s#", share="share, %#", trials="tactics timed"
            ),
        },
    }
