"""A job's figure over time, with its levels and their changes."""

from __future__ import annotations

from enginescope.core.units import format_significant
from enginescope.records.verdict.history import JobHistory
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip
from enginescope.render.verdicts.history_text import letter, span_text, title_text

#: Above so many sessions the picture draws no bars of spread.
_MOST_BARS = 400


def history_chart(found: JobHistory, *, key: str = "history", title: str | None = None) -> Chart:
    """Every session in order, dashed levels, and a line with a letter at each change.

    The title is the result, unless another is given.
    """
    return Chart(
        key=key,
        title=title or title_text(found),
        subtitle=(
            span_text(found),
            "Bars: lowest to highest run of a session; for a single run the interval of its median",
        ),
        spec={"layer": _layers(found)},
        table=_table(found),
        height=300,
        is_wide=True,
    )


def _layers(found: JobHistory) -> list[Spec]:
    rows = [
        {
            "at": at + 1,
            "value": one.value,
            "low": one.lowest,
            "high": one.highest,
            "made": one.created[:16].replace("T", " "),
            "run": one.runs[0][:8],
            "runs": len(one.runs),
            "commit": one.commit or "not known",
        }
        for at, one in enumerate(found.points)
    ]
    title = f"{found.metric}, {found.unit}"
    y = quantity("value", title, scale={"zero": False})
    tips = tooltip(
        made="made",
        run="run",
        runs="runs#",
        commit="commit",
        value=f"{title}#",
        low="lowest#",
        high="highest#",
    )
    x = _x(len(rows))
    layers: list[Spec] = [*_changes(found), *_levels(found, y)]
    if len(rows) <= _MOST_BARS:
        layers.append(
            {
                "data": {"values": rows},
                "mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.45},
                "encoding": {
                    "x": x,
                    "y": quantity("low", title, scale={"zero": False}),
                    "y2": {"field": "high"},
                    "tooltip": tips,
                },
            }
        )
    layers.append(
        {
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.9},
            "encoding": {"x": x, "y": y, "tooltip": tips},
        }
    )
    return layers


def _x(count: int) -> Spec:
    scale = {"domain": [0.5, count + 0.5], "nice": False}
    return quantity("at", "session", scale=scale, axis={"tickMinStep": 1, "grid": False})


def _levels(found: JobHistory, y: Spec) -> list[Spec]:
    rows = [
        {"from": level.first + 0.6, "to": level.last + 1.4, "value": level.value}
        for level in found.levels
    ]
    x = _x(len(found.points))
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.6},
            "encoding": {
                "x": {**x, "field": "from"},
                "x2": {"field": "to"},
                "y": y,
                "tooltip": tooltip(value=f"level, {found.unit}#"),
            },
        }
    ]


def _changes(found: JobHistory) -> list[Spec]:
    rows = [
        {
            "at": one.at + 0.5,
            "letter": letter(number),
            "change": f"{100 * (one.estimate.ratio - 1):+.1f} %",
        }
        for number, one in enumerate(found.sure)
    ]
    if not rows:
        return []
    x, tips = _x(len(found.points)), tooltip(letter="change", change="by")
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "style": "folded", "strokeDash": [2, 3], "strokeWidth": 1.2},
            "encoding": {"x": x, "tooltip": tips},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", "dy": -8, "fontWeight": 700},
            "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "letter"}, "tooltip": tips},
        },
    ]


def _table(found: JobHistory) -> ChartTable:
    rows = tuple(
        (
            f"{at:,}",
            one.created[:16].replace("T", " "),
            one.runs[0][:8],
            f"{len(one.runs):,}",
            format_significant(one.value, 4),
            one.commit or "—",
            " ".join(one.tags),
        )
        for at, one in enumerate(found.points, start=1)
    )
    headers = (
        "Sitting",
        "Made, UTC",
        "First run",
        "Runs",
        f"Value, {found.unit}",
        "Commit",
        "Tags",
    )
    return ChartTable(headers=headers, rows=rows)
