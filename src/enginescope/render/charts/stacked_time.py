"""Where the time goes: bars of its parts, by kind of work, by type, and what findings may save."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from enginescope.analysis.runs.run_view import RunView
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.base.palette import (
    OTHER,
    VERMILLION,
    family_color,
    ink_on,
    type_color,
    type_family,
)
from enginescope.render.charts.bars import X_TITLE
from enginescope.render.html.images import X_TICKS, Chart, ChartTable, Spec, quantity, tooltip

#: Parts of a stacked bar that are shown apart, and the share that has room for a name.
_MOST_PARTS = 8
_NAMED_PCT = 7.0


def time_stacked(
    view: RunView, stakes: Mapping[str, float], engine_ms: float | None
) -> Chart | None:
    """The time in one bar by kind of work and one by type; ``None`` without layer times or types.

    A third bar has what findings could win, by rule, where any could.

    Args:
        stakes: Milliseconds by code; no layer's time is in two of them.
        engine_ms: What `stakes` are a part of: the engine's time without the profiler.
    """
    by_type = [
        (part.key or "not known", part.time_ms) for part in view.time_by_type if part.time_ms
    ]
    whole_ms = sum(ms for _, ms in by_type)
    if not whole_ms or not any(part.key for part in view.time_by_type):
        return None
    by_family: defaultdict[str, float] = defaultdict(float)
    for name, ms in by_type:
        by_family[type_family(name)] += ms
    families = sorted(by_family.items(), key=lambda part: -part[1])
    rows = [
        *_stacked("by kind of work", families, whole_ms, family_color),
        *_stacked("by type", by_type, whole_ms, type_color),
        *_won(stakes, engine_ms or whole_ms),
    ]
    axis_ms = max(row["end"] for row in rows)
    for row in rows:
        row["room"] = (row["end"] - row["start"]) / axis_ms
    top, share = rows[0]["name"], format_significant(rows[0]["share"])
    return Chart(
        key="time_stacked",
        title=f"Where the time goes: {top} takes {share} %",
        subtitle=_subtitle(stakes, engine_ms, whole_ms),
        spec=_spec(rows),
        table=ChartTable(
            headers=("Part", "Time, ms", "Share of the sum, %"),
            rows=tuple(
                (
                    part["name"],
                    format_significant(part["ms"], 4),
                    format_significant(part["share"], 4),
                )
                for part in rows
            ),
        ),
        height=34 * len({row["row"] for row in rows}) + 16,
        is_wide=True,
    )


def _spec(rows: Sequence[Spec]) -> Spec:
    y = {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": {"ticks": False}}
    x = quantity("start", X_TITLE, axis=X_TICKS, scale={"nice": False})
    fill = {"field": "fill", "type": "nominal", "scale": None, "legend": None}
    return {
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": {"band": 0.8}, "stroke": "#00000033"},
                "encoding": {
                    "x": x,
                    "x2": {"field": "end"},
                    "color": fill,
                    "tooltip": tooltip(name="part", ms="time, ms#", share="share of the sum, %#"),
                },
            },
            {
                "mark": {"type": "text", "limit": {"expr": "width * datum.room - 6"}},
                "encoding": {
                    "x": quantity("middle", X_TITLE),
                    "text": {"field": "label"},
                    "color": {**fill, "field": "ink"},
                },
            },
        ],
    }


def _subtitle(
    stakes: Mapping[str, float], engine_ms: float | None, whole_ms: float
) -> tuple[str, ...]:
    """Say why the bar of stakes is shorter or longer than the others, where it is."""
    if not stakes or engine_ms is None or math.isclose(engine_ms, whole_ms, rel_tol=0.005):
        return ()
    why = (
        f"The layers add up to {format_ms(whole_ms, 4)} in the profile; the engine takes "
        f"{format_ms(engine_ms, 4)} without it, and what findings save is a part of that."
    )
    return (why,)


def _won(stakes: Mapping[str, float], engine_ms: float) -> list[Spec]:
    """Return a bar of the engine: what findings could win, and the rest; empty without stakes."""
    parts = sorted(stakes.items(), key=lambda part: -part[1])
    if not parts:
        return []
    rest_ms = max(0.0, engine_ms - sum(stakes.values()))
    rows = _stacked("findings save, by rule", parts, engine_ms, lambda _: VERMILLION)
    rest = _stacked("findings save, by rule", [("no finding", rest_ms)], engine_ms, lambda _: OTHER)
    for row in rows:
        row["label"] = row["name"] if row["share"] >= _NAMED_PCT else ""
    start = engine_ms - rest_ms
    shift = {"start": start, "middle": start + rest_ms / 2, "end": engine_ms, "label": ""}
    return [*rows, {**rest[0], **shift}]


def _stacked(
    row: str,
    parts: Sequence[tuple[str, float]],
    whole_ms: float,
    color: Callable[[str | None], str],
) -> list[Spec]:
    """Return the parts of one bar, the small ones at its end together."""
    shown = list(parts[:_MOST_PARTS])
    rest_ms = sum(ms for _, ms in parts[_MOST_PARTS:])
    if rest_ms:
        shown.append((f"{len(parts) - _MOST_PARTS} more", rest_ms))
    rows: list[Spec] = []
    start = 0.0
    for name, ms in shown:
        share, fill = 100 * ms / whole_ms, color(name)
        label = f"{name} {format_significant(share, 2)} %" if share >= _NAMED_PCT else ""
        rows.append(
            {
                "row": row,
                "name": name,
                "ms": ms,
                "share": share,
                "start": start,
                "middle": start + ms / 2,
                "end": start + ms,
                "label": label,
                "fill": fill,
                "ink": ink_on(fill),
            }
        )
        start += ms
    return rows
