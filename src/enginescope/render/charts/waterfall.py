"""A waterfall: rungs as bars from zero, and each step from where its rung begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.core.record import Record
from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant
from enginescope.render.base.palette import BLUE, GREEN, ORANGE, VERMILLION
from enginescope.render.charts.bars import LABEL_EXPR, LABEL_WIDTH, ROW_HEIGHT, labels_of
from enginescope.render.html.images import X_TICKS, Chart, ChartTable, Spec, quantity, tooltip

#: Kind of a bar -> its color.
_COLORS = {"measured": BLUE, "adds": ORANGE, "saves": GREEN, "yours": VERMILLION}


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


def waterfall_chart(title: str, bars: Sequence[Bar], table: ChartTable) -> Chart:
    """Return the chart of a ladder; steps are drawn between the rungs that they connect.

    Args:
        table: The same figures as text.
    """
    rows = [_row(at, bar) for at, bar in enumerate(bars)]
    kinds = [kind for kind in _COLORS if any(row["kind"] == kind for row in rows)]
    return Chart(
        key="waterfall",
        title=title,
        subtitle=("Lines are 95 % intervals",),
        spec=_spec(rows, kinds),
        table=table,
        height=(ROW_HEIGHT + 5) * len(rows),
        is_wide=True,
    )


def _row(at: int, bar: Bar) -> Spec:
    kind = bar.kind
    if kind == "step":
        kind = "adds" if bar.value_ms >= 0 else "saves"
    start, end = sorted((bar.start_ms, bar.end_ms))
    row: Spec = {
        "row": f"{at:03}",
        "label": bar.name,
        "name": bar.name,
        "kind": kind,
        "start": start,
        "end": end,
        "value": bar.value_ms,
    }
    if bar.interval is not None:
        # the interval of a step is drawn around its far end
        shift = bar.end_ms - bar.value_ms
        row |= {"low": bar.interval.low + shift, "high": bar.interval.high + shift}
        row["ends"] = _ends(bar.interval)
    return row


def _ends(interval: Interval) -> str:
    return f"{format_significant(interval.low, 4)} … {format_significant(interval.high, 4)}"


def _spec(rows: list[Spec], kinds: Sequence[str]) -> Spec:
    names: Mapping[str, tuple[str, ...]] = labels_of(rows)
    scale = {"domain": list(kinds), "range": [_COLORS[kind] for kind in kinds]}
    color = {
        "field": "kind",
        "type": "nominal",
        "scale": scale,
        "legend": {"title": None, "symbolType": "square"},
    }
    x = quantity("start", "time per query, ms", axis=X_TICKS, scale={"nice": False})
    y = {
        "field": "row",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelExpr": LABEL_EXPR, "labelLimit": LABEL_WIDTH, "ticks": False},
    }
    tips = tooltip(name="measured", value="time, ms#", ends="95 % interval, ms")
    return {
        "data": {"values": rows},
        "params": [{"name": "names", "value": names}],
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": {"band": 0.72}},
                "encoding": {"x": x, "x2": {"field": "end"}, "color": color, "tooltip": tips},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "transform": [{"filter": "isValid(datum.low)"}],
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "tooltip": tips},
            },
        ],
    }
