"""A waterfall: totals, and the steps between them, each from where the one above it ends."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.judge.samples import Interval
from enginescope.judge.units import range_text
from enginescope.render.base.data_table import number_column
from enginescope.render.base.palette import BETTER, BLUE, SIDES, WORSE
from enginescope.render.charts.bars import LABEL_WIDTH, ROW_HEIGHT, labels_of, row_axis
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    category,
    marks,
    quantity,
    tooltip,
)

_MORE, _LESS, _TOTAL = "more time", "less time", "measured"
#: Kind of a bar -> its color.
_COLORS = {_TOTAL: BLUE, _MORE: WORSE, _LESS: BETTER, "yours": SIDES[1]}
#: Room for a figure beside a bar, of the bars' span.
_FIGURE = 0.4


class Bar(Record, frozen=True, kw_only=True):
    """One bar, from `start_ms` to `end_ms`, and the interval of its end.

    Attributes:
        kind: ``measured``, ``step`` or ``yours``.
        value_ms: What the bar stands for: its end, or the difference of a step.
    """

    name: str
    kind: str
    start_ms: float
    end_ms: float
    value_ms: float
    interval: Interval | None = None


def waterfall_chart(
    title: str,
    bars: Sequence[Bar],
    table: ChartTable,
    *,
    key: str = "waterfall",
    subtitle: tuple[str, ...],
    axis: str,
    scale: Sequence[Bar] = (),
) -> Chart:
    """Return the chart: steps are drawn between the totals that they connect.

    Args:
        table: The same figures as text.
        axis: What the figures are, without their unit.
        scale: Bars whose span is drawn, of charts on one scale; totals are ticks then, because the
            axis does not begin at 0.
    """
    rows = _rows(bars)
    return Chart(
        key=key,
        title=title,
        subtitle=subtitle,
        spec=_spec(rows, f"{axis}, ms", scale or bars, is_cut=bool(scale)),
        table=table,
        height=(ROW_HEIGHT + 5) * len(rows),
        is_wide=True,
    )


def _rows(bars: Sequence[Bar]) -> list[Spec]:
    rows = []
    for at, bar in enumerate(bars):
        step = _MORE if bar.value_ms >= 0 else _LESS
        start, end = sorted((bar.start_ms, bar.end_ms))
        row: Spec = {"row": f"{at:05}", "label": bar.name, "what": bar.name}
        row |= {"kind": step if bar.kind == "step" else bar.kind}
        row |= {"start": start, "end": end, "value": bar.value_ms, "ends": "—"}
        if bar.interval is not None:
            # the interval of a step is drawn around its far end
            shift, low, high = bar.end_ms - bar.value_ms, bar.interval.low, bar.interval.high
            row |= {"low": low + shift, "high": high + shift, "ends": range_text(low, high, 4)}
        rows.append(row)
    # as the axis: see `in_readable_units`
    places = (abs(row.get(name, 0.0)) for row in rows for name in ("start", "end", "low", "high"))
    unit = 1e3 if max(places) < 1 else 1.0
    for is_step in (True, False):
        of = [at for at, bar in enumerate(bars) if (bar.kind == "step") is is_step]
        texts = number_column([unit * bars[at].value_ms for at in of], signed=is_step)
        for at, text in zip(of, texts, strict=True):
            rows[at]["text"] = text
    return rows


def _spec(rows: list[Spec], title: str, scale: Sequence[Bar], *, is_cut: bool) -> Spec:
    colors = {kind: of for kind, of in _COLORS.items() if any(row["kind"] == kind for row in rows)}
    legend = {"title": None, "symbolType": "square", "symbolOpacity": 1}
    color = category("kind", colors, legend=legend)
    low, middle, high = _with_room(scale, is_cut=is_cut)
    x = quantity("start", title, scale={"domain": [low, high], "nice": False}, axis=X_TICKS)
    extent = {"minExtent": LABEL_WIDTH} if is_cut else {}  # charts on one scale have one width
    y = {**row_axis(**extent), "scale": {"domain": [row["row"] for row in rows]}}
    tips = tooltip(what="what", kind="kind", value="time, ms#", ends="95 % interval, ms")
    dimmed = {"condition": {"test": "!chosen || datum.what === chosen", "value": 1}, "value": 0.3}
    shared = {"y": y, "color": color, "tooltip": tips}
    bar = {"type": "bar", "height": {"band": 0.72}, "minBandSize": 2, "cursor": "pointer"}
    total = {"type": "tick", "thickness": 3, "height": 17} if is_cut else bar
    ends = {} if is_cut else {"x2": {"field": "end"}}
    steps = [row for row in rows if row["kind"] in (_MORE, _LESS)]
    others = [row for row in rows if row["kind"] not in (_MORE, _LESS)]
    layers = [
        marks(steps, bar, x=x, x2={"field": "end"}, opacity=dimmed, **shared),
        marks(others, total, x=x, **ends, **shared),
    ]
    # figures stand beside the end of their bars that has room
    for end, align, dx in (("end", "left", 6), ("start", "right", -6)):
        shown = [row for row in rows if (row["start"] <= middle) == (end == "end")]
        text = {"type": "text", "align": align, "dx": dx}
        place = {"y": y, "x": {"field": end, "type": "quantitative"}}
        layers.append(marks(shown, text, **place, text={"field": "text", "type": "nominal"}))
    known = [row for row in rows if "low" in row]
    if known:
        rule = {"type": "rule", "strokeWidth": 2}
        interval: Spec = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
        layers.append(marks(known, rule, **interval, y=y, tooltip=tips))
    params = [{"name": "names", "value": labels_of(rows)}, {"name": "chosen", "value": None}]
    return {"data": {"values": rows}, "params": params, "layer": layers}


def _with_room(bars: Sequence[Bar], *, is_cut: bool) -> tuple[float, float, float]:
    """Return the span of the bars with room beside them, and the bars' middle.

    A figure stands to the right of a bar that begins before the middle, so a bar across the whole
    span needs more room there.
    """
    ends = [sorted((bar.start_ms, bar.end_ms)) for bar in bars]
    low = min(end[0] for end in ends) if is_cut else 0.0
    high = max(end[1] for end in ends)
    span, middle = (high - low) or high or 1.0, (low + high) / 2
    right = max((end[1] for end in ends if end[0] <= middle), default=low)
    first = max(0.0, low - 0.04 * span) if is_cut else min(0.0, *(end[0] for end in ends))
    return first, middle, max(high + 0.04 * span, right + _FIGURE * span)
