"""Estimates with their intervals, one below the other, on one scale."""

from collections.abc import Sequence

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.record import Record
from enginescope.judge.units import range_text, signed_pct
from enginescope.judge.verdict import NOT_DETECTED, RatioEstimate
from enginescope.render.base.data_table import ends_of
from enginescope.render.base.palette import BETTER, BLUE, GREY, SKY, WORSE
from enginescope.render.charts.bars import labels_of, row_axis, rows_height
from enginescope.render.charts.tip_table import table_of_tips
from enginescope.render.html.images import X_TICKS, Chart, Spec, category, marks, quantity, tooltip

#: Kind of an estimate -> its color; the legend names those that there are.
_COLORS = {
    **dict.fromkeys(("worse", "slower", "regression"), WORSE),
    **dict.fromkeys(("better", "faster", "improvement"), BETTER),
    **dict.fromkeys(("no regression", "safe", NOT_DETECTED, "confirmation", "build", "run"), BLUE),
    **dict.fromkeys(("incomparable", "unstable", "inconclusive"), GREY),
    "search": SKY,
}


class Estimate(Record, frozen=True, kw_only=True):
    """A figure with the ends of its interval.

    Attributes:
        kind: A key of the colors: a verdict, or where the figure is from.
        limit: The most that it may be, or the least; drawn where all have the same.
    """

    name: str
    value: float
    kind: str
    low: float | None = None
    high: float | None = None
    limit: float | None = None


def ratio_estimate(name: str, ratio: RatioEstimate, kind: str) -> Estimate:
    """Return a ratio with its interval."""
    low, high = ends_of(ratio.interval)
    return Estimate(name=name, value=ratio.ratio, kind=kind, low=low, high=high)


def latency_medians(
    labelled: Sequence[tuple[str, RunView]],
    *,
    key: str = "latency_medians",
    title: str = "Latency of single images",
) -> Chart | None:
    """Return the median of each run with its interval; ``None`` without samples."""
    estimates = [
        Estimate(name=label, value=one.median_ms, kind="run", low=low, high=high)
        for label, view in labelled
        if (one := view.latency) is not None
        for low, high in [ends_of(one.median_interval)]
    ]
    axis = "median latency, ms"
    return estimate_chart(key, title, estimates, axis=axis, reference=None) if estimates else None


def estimate_chart(
    key: str,
    title: str,
    estimates: Sequence[Estimate],
    *,
    axis: str,
    reference: float | None,
    lines: str = "95 % intervals",
    dashed: str = "equal",
) -> Chart | None:
    """Return the chart; ``None`` where nothing is compared, and no interval is known.

    Args:
        axis: What the figures are, with their unit.
        reference: Where the dashed line stands; ``None``: there is none.
        lines, dashed: What the lines are.
    """
    rows: list[Spec] = []
    for at, estimate in enumerate(estimates):
        row: Spec = {"row": f"{at:03}", "label": estimate.name, "name": estimate.name}
        row |= {"kind": estimate.kind, "value": estimate.value, "ends": "—"}
        row |= {} if estimate.limit is None else {"limit": estimate.limit}
        if (low := estimate.low) is not None and (high := estimate.high) is not None:
            row |= {"low": low, "high": high, "ends": range_text(low, high, 4)}
        rows.append(row)
    if reference is not None and all("low" not in row for row in rows):
        return None
    verdict = {} if reference is None else {"kind": "verdict"}
    limits = {estimate.limit for estimate in estimates}
    limit = {} if None in limits else {"limit": f"limit of {axis}#"}
    solid = "; solid: the limit" if limit and len(limits) == 1 else ""
    tips = {"name": "of", **verdict, "value": f"{axis}#", "ends": lines, **limit}
    return Chart(
        key=key,
        title=title,
        subtitle=(
            f"Lines: {lines}" + (f"; dashed: {dashed}{solid}" if reference is not None else ""),
        ),
        spec=_spec(rows, axis, reference, tooltip(**tips), [*limits]),
        table=table_of_tips(rows, tips),
        height=rows_height(len(rows)),
        is_wide=True,
    )


def _spec(
    rows: list[Spec],
    axis: str,
    reference: float | None,
    tips: list[Spec],
    limits: list[float | None],
) -> Spec:
    kinds = dict.fromkeys(row["kind"] for row in rows)
    legend = {"title": None, "symbolType": "circle"} if len(kinds) > 1 else None
    color = category("kind", {kind: _COLORS[kind] for kind in kinds}, legend=legend)
    x = quantity("value", axis, axis=X_TICKS, scale={"zero": False, "nice": False, "padding": 12})
    y = {**row_axis(), "scale": {"domain": [row["row"] for row in rows]}}
    dashed = {"type": "rule", "strokeDash": [4, 4], "strokeWidth": 1}
    lasting = [] if reference is None else [marks([{"value": reference}], dashed, x=x)]
    if len(limits) == 1 and (at := limits[0]) is not None:
        limit = [{"value": at, "label": f"limit {signed_pct(at)} %"}]
        text = {"type": "text", "align": "right", "baseline": "bottom", "dx": 3}
        above = {"y": {"value": -3}, "text": {"field": "label"}}
        solid = {"type": "rule", "strokeWidth": 1.5}
        lasting += [marks(limit, solid, x=x), marks(limit, text, x=x, **above)]
    known = [row for row in rows if "low" in row]
    line = {"type": "rule", "strokeWidth": 4}
    ends: Spec = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    point = {"type": "point", "filled": True, "size": 36, "opacity": 1}
    return {
        "data": {"values": rows},
        "params": [{"name": "names", "value": labels_of(rows)}],
        "layer": [
            *lasting,
            marks(known, line, y=y, color=color, tooltip=tips, **ends),
            marks(None, point, y=y, x=x, color=color, tooltip=tips),
        ],
    }
