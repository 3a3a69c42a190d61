"""An error along a model, and what it costs to keep nodes in FP32."""

from __future__ import annotations

from collections.abc import Mapping

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep
from enginescope.analysis.bisection.precision_proposals import PrecisionTrial, PrecisionTrials
from enginescope.render.accuracy.validate_phrases import error_text
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.bisection.bisect_phrases import figure_text, inputs_cell, magnitude
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

#: More points than a picture can tell apart: of the rest those with the largest errors stay.
_POINTS = 3_000
_TABLE_ROWS = 400
_START = "where it starts"
#: Kinds of points with their colors and marks.
_STEPS = {
    "within the limit": (BLUE, "circle"),
    "over the limit": (ORANGE, "triangle-up"),
    _START: (VERMILLION, "diamond"),
    "not finite": (VERMILLION, "cross"),
}
_TRIALS = {"passes": (BLUE, "circle"), "over its limits": (VERMILLION, "cross")}
#: Drawn below the smallest error that is there: errors of 0 have no logarithm.
_BELOW, _LEAST = 10.0, 1e-9
_ERROR = quantity("error", "RMSE ÷ spread of the reference", scale={"type": "log"})
_LATENCY = quantity("latency", "median latency, ms", scale={"zero": False, "nice": True})


def error_growth(found: Bisected, key: str) -> Chart | None:
    """RMSE ÷ spread of every tensor looked at; ``None`` where there is no error at all."""
    shown = _thinned(found)
    drawn = [one for one in shown if one.error.odd or one.error.error]
    if not drawn:
        return None
    top = max((one.error.error or 0.0 for one in drawn if not one.error.odd), default=0.0)
    top = max(top, found.limit or 0.0) or 1.0
    exact = sum(1 for step in found.steps if not step.error.odd and not step.error.error)
    subtitle = []
    if exact:
        subtitle.append(f"{exact:,} tensors without an error are not drawn")
    if any(one.error.odd for one in drawn):
        subtitle.append("Tensors with NaN or infinities are drawn at the upper edge")
    if len(shown) < len(found.steps):
        subtitle.append(f"{len(shown):,} of {len(found.steps):,} tensors, the largest among them")
    position = quantity(
        "position",
        "tensor, in the order of computation",
        axis={"grid": False, "tickMinStep": 1},
    )
    points = _points([_step_row(one, found, 3 * top) for one in drawn], position, _STEPS)
    points["encoding"] |= {
        "size": {
            "condition": {"test": f"datum.kind === '{_START}'", "value": 240},
            "value": 50,
        },
        "tooltip": tooltip(
            tensor="tensor",
            node="node",
            operator="operator",
            figure="RMSE ÷ spread",
            inputs="its inputs'",
            peak="largest |reference|",
        ),
    }
    return Chart(
        key=key,
        title="The error along the model, from its inputs to its outputs",
        subtitle=tuple(subtitle),
        spec={"layer": [*_limit(found.limit, f"limit of {found.tolerance}"), points]},
        table=ChartTable(
            headers=("position", "tensor", "operator", "RMSE ÷ spread", "inputs'", "|reference|"),
            rows=tuple(
                (
                    f"{one.position:,}",
                    one.tensor,
                    one.pair.operator,
                    figure_text(one),
                    inputs_cell(one),
                    magnitude(one.error.reference_peak),
                )
                for one in found.steps[:_TABLE_ROWS]
            ),
        ),
        height=300,
        is_wide=True,
    )


def _step_row(one: GrowthStep, found: Bisected, edge: float) -> Spec:
    within, over, _, odd = _STEPS
    kind = odd if one.error.odd else over if one.error.over else within
    return {
        "position": one.position,
        "error": edge if one.error.odd else one.error.error,
        "kind": _START if one.tensor == found.first else kind,
        "tensor": one.tensor,
        "node": one.pair.node,
        "operator": one.pair.operator,
        "figure": figure_text(one),
        "inputs": inputs_cell(one),
        "peak": magnitude(one.error.reference_peak),
    }


def _thinned(found: Bisected) -> tuple[GrowthStep, ...]:
    if len(found.steps) <= _POINTS:
        return found.steps
    order = sorted(found.steps, key=lambda one: (-one.error.odd, -(one.error.error or 0.0)))
    kept = {one.tensor for one in order[:_POINTS]} | {found.first}
    return tuple(step for step in found.steps if step.tensor in kept)


def precision_front(found: PrecisionTrials, key: str, limit: float | None) -> Chart | None:
    """Draw latency against error; ``None`` where fewer than two could be measured."""
    known = [
        trial for trial in found.trials if trial.latency_ms is not None and trial.error is not None
    ]
    if len(known) < 2:
        return None
    least = (min((one.error for one in known if one.error), default=_LEAST) or _LEAST) / _BELOW
    subtitle = ["The line joins the best proposals: no other one is both faster and closer"]
    if any(not one.error for one in known):
        subtitle.append("An error of 0 is drawn at the lower edge")
    lost = len(found.trials) - len(known)
    if lost:
        subtitle.append(f"{lost:,} without a finite error or a latency are in the table alone")
    line = {
        "data": {"values": [_trial_row(one, least) for one in found.front]},
        "mark": {"type": "line", "interpolate": "step-after", "color": GREY},
        "encoding": {
            "x": _LATENCY,
            "y": _ERROR,
            "order": {"field": "latency", "type": "quantitative"},
        },
    }
    points = _points([_trial_row(one, least) for one in known], _LATENCY, _TRIALS)
    points["encoding"]["tooltip"] = tooltip(
        title="kept in FP32", nodes="nodes", latency="median ms#", shown="RMSE ÷ spread"
    )
    bars: Spec = {
        "data": points["data"],
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {"x": {**_LATENCY, "field": "low"}, "x2": {"field": "high"}, "y": _ERROR},
    }
    return Chart(
        key=key,
        title="Time and error with nodes kept in FP32",
        subtitle=tuple(subtitle),
        spec={"layer": [*_limit(limit, "limit"), line, bars, points]},
        height=280,
    )


def _trial_row(one: PrecisionTrial, least: float) -> Spec:
    passes, over = _TRIALS
    return {
        "latency": one.latency_ms,
        "error": one.error or least,
        "shown": error_text(one.error),
        "title": one.proposal.title,
        "nodes": len(one.proposal.nodes) if one.kind != "all" else "all",
        "kind": passes if one.passes else over,
        "low": one.interval.low if one.interval else one.latency_ms,
        "high": one.interval.high if one.interval else one.latency_ms,
    }


def _points(rows: list[Spec], x: Spec, looks: Mapping[str, tuple[str, str]]) -> Spec:
    """Return a mark for each row, colored and shaped by its kind."""
    kinds = [kind for kind in looks if any(row["kind"] == kind for row in rows)]
    colors, shapes = zip(*(looks[kind] for kind in kinds), strict=True)
    channel: Spec = {
        "field": "kind",
        "type": "nominal",
        "legend": {"title": None, "orient": "top"},
    }
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 0.9},
        "encoding": {
            "x": x,
            "y": _ERROR,
            "color": {**channel, "scale": {"domain": kinds, "range": list(colors)}},
            "shape": {**channel, "scale": {"domain": kinds, "range": list(shapes)}},
        },
    }


def _limit(limit: float | None, what: str) -> list[Spec]:
    if not limit:
        return []
    return [
        {
            "data": {"values": [{"error": limit, "what": what}]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 4]},
            "encoding": {"y": _ERROR, "tooltip": tooltip(what="line", error="RMSE ÷ spread#")},
        }
    ]
