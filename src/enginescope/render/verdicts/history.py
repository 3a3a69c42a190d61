"""A job's figure over time, with its levels and their changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from enginescope.judge.units import format_significant, signed_pct
from enginescope.records.verdict.history import JobHistory
from enginescope.render.html.images import (
    X_TICKS,
    Chart,
    ChartTable,
    Spec,
    quantity,
    tooltip,
    zoomable,
)
from enginescope.render.verdicts.history_text import flat_ends, letter, span_text, title_text

#: Above so many sessions the picture draws no bars of spread.
_MOST_BARS = 400
_HOUR_MS = 3.6e6
#: A day where it begins; else the time too, as zoom and width decide how far ticks are apart.
_TICK = (
    "utcFormat(datum.value, utchours(datum.value) || utcminutes(datum.value)"
    " ? '%m-%d %H:%M' : '%Y-%m-%d')"
)


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
        spec=zoomable(_layers(found)),
        table=_table(found),
        height=300,
        is_wide=True,
    )


def _layers(found: JobHistory) -> list[Spec]:
    times = _times_ms(found)
    rows = [
        {
            "at": time,
            "value": one.value,
            "low": one.lowest,
            "high": one.highest,
            "made": one.created[:16].replace("T", " "),
            "run": one.runs[0][:8],
            "runs": len(one.runs),
            "commit": one.commit or "not known",
        }
        for time, one in zip(times, found.points, strict=True)
    ]
    title = f"{found.metric}, {found.unit}"
    ends = flat_ends([end for one in found.points for end in (one.lowest, one.highest)])
    scale: Spec = {"zero": False} if ends is None else {"domain": ends, "nice": False}
    y = quantity("value", title, scale=scale)
    tips = tooltip(
        made="made",
        run="run",
        runs="runs#",
        commit="commit",
        value=f"{title}#",
        low="lowest#",
        high="highest#",
    )
    x = _x()
    layers: list[Spec] = [*_changes(found, times), *_levels(found, times, y)]
    if len(rows) <= _MOST_BARS:
        layers.append(
            {
                "data": {"values": rows},
                "mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.45},
                "encoding": {
                    "x": x,
                    "y": quantity("low", title, scale=scale),
                    "y2": {"field": "high"},
                    "tooltip": tips,
                },
            }
        )
    layers.append(
        {
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.9, "clip": True},
            "encoding": {"x": x, "y": y, "tooltip": tips},
        }
    )
    return layers


def _times_ms(found: JobHistory) -> list[float]:
    """Return when sessions began, in ms of Unix time."""
    made = (datetime.fromisoformat(one.created.replace("Z", "+00:00")) for one in found.points)
    return [
        1e3 * (one if one.tzinfo else one.replace(tzinfo=timezone.utc)).timestamp() for one in made
    ]


def _ends(times: Sequence[float]) -> tuple[float, float]:
    """Return where the axis begins and ends: a little before the first and after the last."""
    margin = 0.02 * (times[-1] - times[0]) or _HOUR_MS
    return times[0] - margin, times[-1] + margin


def _x() -> Spec:
    return {
        "field": "at",
        "type": "temporal",
        "title": "session, UTC",
        "scale": {"type": "utc", "nice": False},
        "axis": {"labelExpr": _TICK, "grid": False, **X_TICKS, "labelOverlap": True},
    }


def _levels(found: JobHistory, times: Sequence[float], y: Spec) -> list[Spec]:
    low, high = _ends(times)
    rows = [
        {
            "from": _between(times, level.first) if level.first else low,
            "to": _between(times, level.last + 1) if level.last + 1 < len(times) else high,
            "value": level.value,
        }
        for level in found.levels
    ]
    x = _x()
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


def _between(times: Sequence[float], at: int) -> float:
    """Return the middle between a session and the one before it."""
    return (times[at - 1] + times[at]) / 2


def _changes(found: JobHistory, times: Sequence[float]) -> list[Spec]:
    rows = [
        {
            "at": _between(times, one.at),
            "letter": letter(number),
            "change": f"{signed_pct(100 * (one.estimate.ratio - 1))} %",
        }
        for number, one in enumerate(found.sure)
    ]
    if not rows:
        return []
    x, tips = _x(), tooltip(letter="change", change="by")
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
        "Session",
        "Made, UTC",
        "First run",
        "Runs",
        f"Value, {found.unit}",
        "Commit",
        "Tags",
    )
    return ChartTable(headers=headers, rows=rows)
