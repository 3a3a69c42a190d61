"""Bar charts: layers by time, and time by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from enginescope.analysis.layers.layer_table import LayerRow, slowest_first
from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.units import format_significant
from enginescope.render.base.palette import family_color, precision_color, type_color, type_family
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    picked,
    quantity,
    with_tips,
)

ROW_HEIGHT = 19
#: Letters of a name that have room in a wide picture and in a narrow one.
_NAME_LENGTHS = (40, 18)
LABEL_EXPR = "names[datum.value][(containerSize()[0] || 760) < 715 ? 1 : 0]"
#: Less than half of a narrow page.
LABEL_WIDTH = {"expr": "min(330, 0.42 * (containerSize()[0] || 760))"}


def group_color(
    name: str, groups: Iterable[str], color: Callable[[str | None], str], *, legend: bool = True
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
    names = labels_of(rows)
    counts = all(isinstance(row["value"], int) for row in rows)
    whole = {"tickMinStep": 1, "format": ",.0f"} if counts else {}
    told, tips_channel = with_tips(rows, tips)
    spec: Spec = {
        "data": {"values": [{**one, "part": at} for at, one in enumerate(told)]},
        "mark": {"type": "bar", "height": {"band": 0.72}},
        "params": [{"name": "names", "value": names}],
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelExpr": LABEL_EXPR, "labelLimit": LABEL_WIDTH, "ticks": False},
            },
            "x": quantity("value", x_title, axis={**X_TICKS, **whole}),
            "order": {"field": "part", "type": "quantitative"},
            "color": color,
            "tooltip": tips_channel,
        },
    }
    return picked(spec)


def labels_of(rows: list[Spec]) -> dict[str, tuple[str, ...]]:
    """Return the name beside each bar for a wide and for a narrow picture, see `LABEL_EXPR`."""
    names = [row["label"] for row in rows]
    both = zip(*(shorten_apart(names, length) for length in _NAME_LENGTHS), strict=True)
    return {row["row"]: label for row, label in zip(rows, both, strict=True)}


def height_of(rows: list[Spec]) -> int:
    """Return the pixels that so many bars need."""
    return max(40, (ROW_HEIGHT + 4) * len({row["row"] for row in rows}))


X_TITLE = "time per iteration, ms"
_TIPS = {"value": "time, ms#", "share": "share of the sum, %#"}

#: Whether by precision -> what colors mean, and the color.
_COLORED: dict[bool, tuple[str, Callable[[str | None], str]]] = {
    True: ("precision", precision_color),
    False: ("kind of work", family_color),
}


def layer_bars(view: RunView, topk: int = 30) -> Chart | None:
    """The `topk` layers with the longest time, colored by precision, else by kind of work.

    Of a profile alone neither is known. ``None`` without layer times.
    """
    every = slowest_first(view.layers)
    timed = [row for row in every if row.took_time and not row.is_container]
    rows = timed[:topk]
    if not rows:
        return None
    by_precision = any(row.precision for row in rows)
    name, color = _COLORED[by_precision]
    has_groups = by_precision or any(row.type for row in rows)
    groups = [
        row.precision or "not known" if by_precision else type_family(row.type) for row in rows
    ]
    both = enumerate(zip(rows, groups, strict=True))
    data = [_row(rank, row, group) for rank, (row, group) in both]
    share = sum(row.share_pct or 0.0 for row in rows)
    some = len(rows) < len(timed)
    whole = f"All {len(rows)} timed layers" if len(rows) > 1 else "The only timed layer"
    which = f"The {len(rows)} slowest of {len(timed):,} timed layers" if some else whole
    return Chart(
        key="per_layer_time",
        title=f"Layers by time, colored by {name}" if has_groups else "Layers by time",
        subtitle=(f"{which}: {format_significant(share)} % of the sum over layers",),
        spec=bars(
            data,
            X_TITLE,
            {"name": "layer", **_TIPS, "type": "type", "tactic": "tactic"},
            group_color(name, groups, color, legend=has_groups),
        ),
        height=ROW_HEIGHT * len(rows),
    )


def time_by_type(view: RunView) -> Chart | None:
    """Time summed by layer type; ``None`` without layer times or types."""
    shares = tuple(share for share in view.time_by_type if share.time_ms > 0)
    if not any(share.key for share in shares):
        return None
    data: list[Spec] = [
        {
            "label": one.key or "not known",
            "name": one.key or "not known",
            "group": one.key or "not known",
            "value": one.time_ms,
            "share": one.share_pct,
            "layers": one.layers,
            "row": f"{place:05}",
        }
        for place, one in enumerate(shares)
    ]
    top = data[0]
    table = ChartTable(
        headers=("Type", "Layers", "Time, ms", "Share of the sum, %"),
        rows=tuple(
            (one["name"], str(one["layers"]), _figure(one["value"]), _figure(one["share"]))
            for one in data
        ),
    )
    return Chart(
        key="time_by_type",
        title=f"Time by type: {top['label']} takes {format_significant(top['share'] or 0)} %",
        spec=bars(
            data,
            X_TITLE,
            {"name": "type", **_TIPS, "layers": "layers"},
            group_color("type", [one["group"] for one in data], type_color, legend=False),
        ),
        table=table,
        height=height_of(data),
    )


def _figure(value: float | None) -> str:
    return "—" if value is None else format_significant(value, 4)


def _row(rank: int, row: LayerRow, group: str) -> Spec:
    return {
        "row": f"{rank:05}",
        "label": row.name,
        "name": row.name,
        "group": group,
        "value": row.time_ms,
        "share": row.share_pct,
        "type": row.type or "not known",
        "tactic": row.tactic or "not known",
    }
