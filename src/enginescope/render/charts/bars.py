"""Bar charts: layers by time, time by type, and waterfalls of totals and steps."""

from collections.abc import Callable, Collection, Iterable, Sequence

from enginescope.analysis.layers.layer_table import LayerRow, slowest_first
from enginescope.core.record import Record
from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant, range_text
from enginescope.render.base.data_table import number_column
from enginescope.render.base.figures import UNKNOWN
from enginescope.render.base.palette import (
    BETTER,
    BLUE,
    SIDES,
    WORSE,
    family_color,
    precision_color,
    type_family,
)
from enginescope.render.base.short_names import shorten_apart
from enginescope.render.charts.tip_table import NOT_KNOWN, table_of_tips
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    category,
    marks,
    picked,
    quantity,
    tooltip,
    with_tips,
)

ROW_HEIGHT = 19
#: Less than half of a narrow page.
LABEL_WIDTH = {"expr": "min(330, 0.42 * (containerSize()[0] || 760))"}
X_TITLE = "time per iteration, ms"


def group_color(
    name: str, groups: Iterable[str], color: Callable[[str | None], str], *, legend: bool = True
) -> Spec:
    """Return the channel that gives each group, in the field ``group``, its own color."""
    colors = {group: color(group) for group in groups}
    shown = {"title": name, "symbolType": "square"} if legend else None
    return category("group", colors, legend=shown)


def row_axis(**more: object) -> Spec:
    """Return the channel of rows below each other, with the names of `labels_of`."""
    label = "names[datum.value][(containerSize()[0] || 760) < 715 ? 1 : 0]"
    axis = {"labelExpr": label, "labelLimit": LABEL_WIDTH, "ticks": False, **more}
    return {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": axis}


def bar_chart(
    rows: list[Spec],
    x_title: str,
    tips: dict[str, str],
    color: Spec | None = None,
    *,
    key: str,
    title: str,
    subtitle: tuple[str, ...] = (),
    is_whole: bool = False,
    is_wide: bool = False,
) -> Chart:
    """Return bars of the field ``value``, in the order of the rows, each with its figure.

    Args:
        rows: With ``row`` (the same for parts of one bar), ``label``, ``value``, and what `tips`
            and `color` name.
        x_title: With the unit.
        tips: Fields of tooltip and table, and their titles; ``#`` at the end: a number.
        color: The channel.
        is_whole: Whether the parts of every bar are all of it, 100 %, which needs no figure.
    """
    return Chart(
        key=key,
        title=title,
        subtitle=subtitle,
        spec=_bars(rows, x_title, tips, color, is_whole=is_whole),
        table=table_of_tips(rows, tips),
        height=rows_height(len({row["row"] for row in rows})),
        is_wide=is_wide,
    )


def rows_height(count: int) -> int:
    """Return the pixels that so many rows need."""
    return max(40, (ROW_HEIGHT + 4) * count)


def _bars(
    rows: list[Spec], x_title: str, tips: dict[str, str], color: Spec | None, *, is_whole: bool
) -> Spec:
    counts = all(isinstance(row["value"], int) for row in rows)
    whole = {"tickMinStep": 1, "format": ",.0f"} if counts else {}
    told, tips_channel = with_tips(rows, tips)
    sums: dict[str, float] = {}
    for row in rows:
        sums[row["row"]] = sums.get(row["row"], 0) + (row["value"] or 0)
    known = {row["row"] for row in rows if row["value"] is not None}
    most = max(sums.values(), default=0) or 1
    scale: Spec = {"domain": [0, most], "nice": False}
    if not is_whole:
        scale["range"] = [0, {"expr": "max(0.5 * width, width - 62)"}]
    if x_title.endswith(", ms") and most < 1:  # layers, not latencies
        x_title, whole = f"{x_title[:-2]}µs", {"labelExpr": "format(1000 * datum.value, ',.6~r')"}
    x = quantity("value", x_title, axis={**X_TICKS, **whole}, scale=scale)
    y = {**row_axis(), "scale": {"domain": list(sums)}}
    bar = marks(
        None,
        {"type": "bar", "height": {"band": 0.72}},
        y=y,
        x=x,
        order={"field": "part", "type": "quantitative"},
        tooltip=tips_channel,
        **({"color": color} if color else {}),
    )
    figures: list[Spec] = [
        {"row": row, "value": total, "text": _bar_text(total, x_title)}
        if row in known
        else {"row": row, "value": 0, "text": UNKNOWN}
        for row, total in sums.items()
    ]
    text = {"type": "text", "align": "left", "dx": 4}
    words = marks(figures, text, y=y, x=x, text={"field": "text", "type": "nominal"})
    return picked(
        {
            "data": {"values": [{**one, "part": at} for at, one in enumerate(told)]},
            "params": [{"name": "names", "value": labels_of(rows)}],
            "layer": [bar] if is_whole else [bar, words],
        }
    )


def _bar_text(value: float, title: str) -> str:
    unit = title.rpartition(", ")[2]
    of = f" {unit}" if unit in ("ms", "µs", "s", "%", "MiB") else ""
    value = 1e3 * value if unit == "µs" else value
    return f"{value:,}" if isinstance(value, int) else format_significant(value) + of


def labels_of(rows: list[Spec]) -> dict[str, tuple[str, ...]]:
    """Return the name beside each bar for a wide and for a narrow picture, see `row_axis`."""
    names = [row["label"] for row in rows]
    both = zip(*(shorten_apart(names, length) for length in (40, 18)), strict=True)
    return {row["row"]: label for row, label in zip(rows, both, strict=True)}


def layer_bars(
    layers: Sequence[LayerRow], top: int = 30, kinds: Collection[str] | None = None
) -> Chart | None:
    """The `top` layers with the longest time, colored by precision, else by kind of work.

    Of a profile alone neither is known. ``None`` without layer times.

    Args:
        kinds: Types of layers; by default all.
    """
    every = [row for row in slowest_first(layers) if row.took_time and not row.is_container]
    timed = [row for row in every if kinds is None or row.type in kinds]
    rows = timed[:top]
    if not rows:
        return None
    name = "kind of work"
    color: Callable[[str | None], str] = family_color
    groups = [type_family(row.type) for row in rows]
    if any(row.precision for row in rows):
        name, color = "precision", precision_color
        groups = [row.precision or NOT_KNOWN for row in rows]
    has_groups = any(row.precision or row.type for row in rows)
    data: list[Spec] = [
        {
            "row": f"{rank:05}",
            "label": row.name,
            "name": row.name,
            "group": group,
            "value": row.time_ms,
            "share": row.share_pct,
            "type": row.type or NOT_KNOWN,
            "tactic": row.tactic or NOT_KNOWN,
        }
        for rank, (row, group) in enumerate(zip(rows, groups, strict=True))
    ]
    tips, share = {"name": "layer", "value": "time, ms#"}, sum(row.share_pct or 0.0 for row in rows)
    whole = f"All {len(rows)} timed layers" if len(rows) > 1 else "The only timed layer"
    some = f"The {len(rows)} slowest of {len(timed):,} timed layers"
    which = some if len(rows) < len(timed) else whole
    return bar_chart(
        data,
        X_TITLE,
        {**tips, "share": "share of the sum, %#", "type": "type", "tactic": "tactic"},
        group_color(name, groups, color, legend=has_groups),
        key="latency-per-layer",
        title=f"Layers by time, colored by {name}" if has_groups else "Layers by time",
        subtitle=(f"{which}: {format_significant(share)} % of the sum over layers",),
        is_wide=True,
    )


_MORE, _LESS = "more time", "less time"


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
    spec = _spec(rows, f"{axis}, ms", scale or bars, is_cut=bool(scale))
    height = (ROW_HEIGHT + 5) * len(rows)
    return Chart(
        key=key, title=title, subtitle=subtitle, spec=spec, table=table, height=height, is_wide=True
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
    for is_step in (True, False):
        of = [at for at, bar in enumerate(bars) if (bar.kind == "step") is is_step]
        texts = number_column([bars[at].value_ms for at in of], signed=is_step)
        for at, text in zip(of, texts, strict=True):
            rows[at]["text"] = text
    return rows


def _spec(rows: list[Spec], title: str, scale: Sequence[Bar], *, is_cut: bool) -> Spec:
    kinds = {row["kind"] for row in rows}
    every = {"measured": BLUE, _MORE: WORSE, _LESS: BETTER, "yours": SIDES[1]}
    legend = {"title": None, "symbolType": "square", "symbolOpacity": 1}
    colors = {kind: color for kind, color in every.items() if kind in kinds}
    color = category("kind", colors, legend=legend)
    low, middle, high = _with_room(scale, is_cut=is_cut)
    x = quantity("start", title, scale={"domain": [low, high], "nice": False}, axis=X_TICKS)
    extent = {"minExtent": LABEL_WIDTH} if is_cut else {}  # charts on one scale have one width
    y = {**row_axis(**extent), "scale": {"domain": [row["row"] for row in rows]}}
    tips = tooltip(what="what", kind="kind", value="sum or change, ms#", ends="95 % interval, ms")
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
        # an end beyond the bars is cut: with all of it the bars would have no width
        rule = {"type": "rule", "strokeWidth": 2, "clip": True}
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
    return first, middle, max(high + 0.04 * span, right + 0.4 * span)  # room for the figure
