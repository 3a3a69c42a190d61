"""An error along a model: each tensor's, in the order in which they are computed."""

from __future__ import annotations

from enginescope.analysis.bisection.error_growth import Bisected, GrowthStep
from enginescope.render.base.palette import BLUE, GREY, ORANGE, VERMILLION
from enginescope.render.bisection.bisect_phrases import figure_text, inputs_cell, magnitude
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

#: More points than a picture can tell apart: of the rest those with the largest errors stay.
_POINTS = 3_000
_TABLE_ROWS = 400
_WITHIN, _OVER, _START, _ODD = "within the limit", "over the limit", "where it starts", "not finite"
#: Kind of a point -> its color and its mark.
_LOOKS = {
    _WITHIN: (BLUE, "circle"),
    _OVER: (ORANGE, "triangle-up"),
    _START: (VERMILLION, "diamond"),
    _ODD: (VERMILLION, "cross"),
}
#: Field of a point -> its heading in the table.
_COLUMNS = {
    "position": "position",
    "tensor": "tensor",
    "operator": "operator",
    "figure": "RMSE ÷ spread",
    "inputs": "inputs'",
    "peak": "|reference|",
}
_ERROR = quantity("error", "RMSE ÷ spread of the reference", scale={"type": "log"})


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
    rows = [_row(one, found, 3 * top) for one in found.steps[:_TABLE_ROWS]]
    return Chart(
        key=key,
        title="The error along the model, from its inputs to its outputs",
        subtitle=tuple(subtitle),
        spec={"layer": [*_limit(found), _points([_row(one, found, 3 * top) for one in drawn])]},
        table=ChartTable(
            headers=tuple(_COLUMNS.values()),
            rows=tuple(tuple(str(row[name]) for name in _COLUMNS) for row in rows),
        ),
        height=300,
        is_wide=True,
    )


def _row(one: GrowthStep, found: Bisected, edge: float) -> Spec:
    kind = _ODD if one.error.odd else _OVER if one.error.over else _WITHIN
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


def _points(rows: list[Spec]) -> Spec:
    kinds = [kind for kind in _LOOKS if any(row["kind"] == kind for row in rows)]
    colors, shapes = (list(looks) for looks in zip(*(_LOOKS[kind] for kind in kinds), strict=True))
    kind: Spec = {"field": "kind", "type": "nominal", "legend": {"title": None, "orient": "top"}}
    position = "tensor, in the order of computation"
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "opacity": 0.9},
        "encoding": {
            "x": quantity("position", position, axis={"grid": False, "tickMinStep": 1}),
            "y": _ERROR,
            "color": {**kind, "scale": {"domain": kinds, "range": colors}},
            "shape": {**kind, "scale": {"domain": kinds, "range": shapes}},
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
        },
    }


def _limit(found: Bisected) -> list[Spec]:
    if not found.limit:
        return []
    row = {"error": found.limit, "what": f"limit of {found.tolerance}"}
    return [
        {
            "data": {"values": [row]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 4]},
            "encoding": {"y": _ERROR, "tooltip": tooltip(what="line", error="RMSE ÷ spread#")},
        }
    ]
