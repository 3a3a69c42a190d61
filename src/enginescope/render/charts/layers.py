"""Where the time goes."""

from __future__ import annotations

from collections.abc import Callable

from enginescope.analysis.layers.layer_table import LayerRow, TimeShare, slowest_first
from enginescope.analysis.runs.run_view import RunView
from enginescope.core.units import format_significant
from enginescope.render.base.palette import family_color, precision_color, type_color, type_family
from enginescope.render.base.phrases import shorten
from enginescope.render.charts.bars import ROW_HEIGHT, bars, group_color, height_of
from enginescope.render.html.images import Chart, ChartTable, Spec

_NAME_LENGTH = 44
_X_TITLE = "mean time per iteration, ms"
_TIPS = {"value": "mean, ms#", "share": "share of the sum, %#"}

#: Whether by precision -> what colors mean, and the color.
_COLORED: dict[bool, tuple[str, Callable[[str | None], str]]] = {
    True: ("precision", precision_color),
    False: ("kind of work", family_color),
}


def layer_bars(view: RunView, topk: int = 30) -> Chart | None:
    """The `topk` layers with the longest mean time, colored by precision, else by kind of work.

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
        title=f"Layers by mean time, colored by {name}" if has_groups else "Layers by mean time",
        subtitle=(f"{which}: {format_significant(share)} % of the sum over layers",),
        spec=bars(
            data,
            _X_TITLE,
            {"name": "layer", **_TIPS, "type": "type", "tactic": "tactic"},
            group_color(name, groups, color, legend=has_groups),
        ),
        height=ROW_HEIGHT * len(rows),
    )


def time_by_type(view: RunView) -> Chart | None:
    """Time summed by layer type; ``None`` without layer times or types."""
    return _shares("time_by_type", "type", view.time_by_type, type_color)


def time_by_precision(view: RunView) -> Chart | None:
    """Time summed by precision; ``None`` without layer times or precisions."""
    return _shares("time_by_precision", "precision", view.time_by_precision, precision_color)


def _shares(
    key: str, name: str, shares: tuple[TimeShare, ...], color: Callable[[str | None], str]
) -> Chart | None:
    shares = tuple(share for share in shares if share.mean_ms > 0)
    if not any(share.key for share in shares):
        return None
    data: list[Spec] = [
        {
            "label": one.key or "not known",
            "name": one.key or "not known",
            "group": one.key or "not known",
            "value": one.mean_ms,
            "share": one.share_pct,
            "layers": one.layers,
            "row": f"{place:05}",
        }
        for place, one in enumerate(shares)
    ]
    top = data[0]
    table = ChartTable(
        headers=(name.capitalize(), "Layers", "Mean, ms", "Share of the sum, %"),
        rows=tuple(
            (one["name"], str(one["layers"]), _figure(one["value"]), _figure(one["share"]))
            for one in data
        ),
    )
    return Chart(
        key=key,
        title=f"Time by {name}: {top['label']} takes {format_significant(top['share'] or 0)} %",
        spec=bars(
            data,
            _X_TITLE,
            {"name": name, **_TIPS, "layers": "layers"},
            group_color(name, [one["group"] for one in data], color, legend=False),
        ),
        table=table,
        height=height_of(data),
    )


def _figure(value: float | None) -> str:
    return "—" if value is None else format_significant(value, 4)


def _row(rank: int, row: LayerRow, group: str) -> Spec:
    return {
        "row": f"{rank:05}",
        "label": shorten(row.name, _NAME_LENGTH),
        "name": row.name,
        "group": group,
        "value": row.mean_ms,
        "share": row.share_pct,
        "type": row.type or "not known",
        "tactic": row.tactic or "not known",
    }
