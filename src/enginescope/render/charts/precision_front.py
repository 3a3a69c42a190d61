"""Ways of keeping nodes in FP32: how long each takes and how far from the reference it is."""

from __future__ import annotations

from enginescope.analysis.precision_trials import PrecisionTrials
from enginescope.render.charts.spec import Chart, Spec, quantity, tooltip
from enginescope.render.palette import BLUE, GREY, VERMILLION
from enginescope.render.validate_phrases import error_text

#: Drawn below the smallest error that is there: errors of 0 have no logarithm.
_BELOW = 10.0
_LEAST = 1e-9
_KINDS = ("passes", "over its limits")


def precision_front(found: PrecisionTrials, key: str, limit: float | None) -> Chart | None:
    """Draw latency against error; ``None`` where fewer than two could be measured."""
    known = [one for one in found.trials if one.latency_ms is not None and one.error is not None]
    if len(known) < 2:
        return None
    least = min((one.error for one in known if one.error), default=_LEAST) or _LEAST
    rows: list[Spec] = [
        {
            "latency": one.latency_ms,
            "error": one.error or least / _BELOW,
            "shown": error_text(one.error),
            "title": one.proposal.title,
            "nodes": len(one.proposal.nodes) if one.kind != "all" else "all",
            "kind": _KINDS[0] if one.passes else _KINDS[1],
            "low": one.interval.low if one.interval else one.latency_ms,
            "high": one.interval.high if one.interval else one.latency_ms,
        }
        for one in known
    ]
    line = [
        {"latency": one.latency_ms, "error": one.error or least / _BELOW} for one in found.front
    ]
    subtitle = ["The line joins those that nothing tried is both faster and nearer than"]
    if any(not one.error for one in known):
        subtitle.append("An error of 0 is drawn at the lower edge")
    lost = len(found.trials) - len(known)
    if lost:
        subtitle.append(f"{lost:,} without a finite error or a latency are in the table alone")
    return Chart(
        key=key,
        title="What keeping nodes in FP32 costs and mends",
        subtitle=tuple(subtitle),
        spec={"layer": [*_limit(limit), _front(line), *_points(rows)]},
        height=280,
    )


def _x(title: str | None = None) -> Spec:
    return quantity("latency", title or "median latency, ms", scale={"zero": False, "nice": True})


def _y() -> Spec:
    return quantity("error", "RMSE ÷ spread of the worst output", scale={"type": "log"})


def _front(line: list[Spec]) -> Spec:
    return {
        "data": {"values": line},
        "mark": {"type": "line", "interpolate": "step-after", "color": GREY},
        "encoding": {"x": _x(), "y": _y(), "order": {"field": "latency", "type": "quantitative"}},
    }


def _points(rows: list[Spec]) -> list[Spec]:
    kinds = [one for one in _KINDS if any(row["kind"] == one for row in rows)]
    colours = dict(zip(_KINDS, (BLUE, VERMILLION), strict=True))
    shapes = dict(zip(_KINDS, ("circle", "cross"), strict=True))
    legend = {"title": None, "orient": "top"}
    bars: Spec = {
        "data": {"values": rows},
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
            "y": _y(),
        },
    }
    points: Spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
        "encoding": {
            "x": _x(),
            "y": _y(),
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [colours[one] for one in kinds]},
                "legend": legend,
            },
            "shape": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [shapes[one] for one in kinds]},
                "legend": legend,
            },
            "tooltip": tooltip(
                title="kept in FP32", nodes="nodes", latency="median ms#", shown="RMSE ÷ spread"
            ),
        },
    }
    return [bars, points]


def _limit(limit: float | None) -> list[Spec]:
    if not limit:
        return []
    return [
        {
            "data": {"values": [{"error": limit, "what": "limit"}]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 4]},
            "encoding": {"y": _y(), "tooltip": tooltip(what="line", error="RMSE ÷ spread#")},
        }
    ]
