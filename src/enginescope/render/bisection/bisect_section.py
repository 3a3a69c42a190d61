"""Where an error starts, as a part of a side's section on the page."""

from __future__ import annotations

from enginescope.analysis.bisection.error_growth import Bisected, telling_steps
from enginescope.analysis.bisection.precision_proposals import PrecisionTrials
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.render.accuracy.validate_phrases import error_text
from enginescope.render.base.figures import Figures
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.bisection.bisect_phrases import (
    FRONT,
    also_text,
    beside_text,
    failures,
    growth_row,
    not_finite_text,
    scope_text,
    start_text,
    suggestion_text,
    trial_row,
    why_text,
)
from enginescope.render.bisection.error_growth import error_growth
from enginescope.render.html.images import Chart, Spec, quantity, tooltip

#: Drawn below the smallest error that is there: errors of 0 have no logarithm.
_BELOW = 10.0
_LEAST = 1e-9
_KINDS = ("passes", "over its limits")


def precision_front(found: PrecisionTrials, key: str, limit: float | None) -> Chart | None:
    """Draw latency against error; ``None`` where fewer than two could be measured."""
    known = [
        trial for trial in found.trials if trial.latency_ms is not None and trial.error is not None
    ]
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
    subtitle = ["The line joins the best proposals: no other one is both faster and closer"]
    if any(not one.error for one in known):
        subtitle.append("An error of 0 is drawn at the lower edge")
    lost = len(found.trials) - len(known)
    if lost:
        subtitle.append(f"{lost:,} without a finite error or a latency are in the table alone")
    return Chart(
        key=key,
        title="Time and error with nodes kept in FP32",
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
                "scale": {"domain": kinds, "range": [colours[kind] for kind in kinds]},
                "legend": legend,
            },
            "shape": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [shapes[kind] for kind in kinds]},
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


class PrecisionSection(Record, frozen=True, kw_only=True):
    """What the page says of keeping nodes in FP32."""

    suggestion: str
    facts: tuple[tuple[str, str], ...]
    table: Figures | None
    charts: tuple[Chart, ...]
    failures: tuple[str, ...]


def precision_section(found: PrecisionTrials, key: str, limit: float | None) -> PrecisionSection:
    """Return the section; `key` sets its chart's name apart from other sides'."""
    one = found.suggested
    told = (
        ("That is", one.specification if one and one.kind != "none" else None),
        ("Tried by", found.way or None),
        ("Samples each", f"{found.samples:,} samples" if found.trials else None),
    )
    chart = precision_front(found, f"{key}-precision", limit)
    return PrecisionSection(
        suggestion=suggestion_text(found),
        facts=tuple((name, text) for name, text in told if text),
        table=_table(found) if found.trials else None,
        charts=(chart,) if chart else (),
        failures=failures(found),
    )


def _table(found: PrecisionTrials) -> Figures:
    return Figures(
        caption=f"Proposals; {FRONT} no other one is both faster and closer",
        headers=("Kept in FP32", "Nodes", "", "RMSE ÷ spread", "Median ms", "95 % CI ms", FRONT),
        rows=tuple(trial_row(trial, found) for trial in found.trials),
        numbers=(1, 3, 4, 5),
    )


class InsideSection(Record, frozen=True, kw_only=True):
    """What the page says of the inside of a side."""

    title: str
    facts: tuple[tuple[str, str], ...]
    table: Figures
    growth: tuple[Chart, ...]
    notices: tuple[Notice, ...]
    kept: PrecisionSection | None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All that the page draws for it."""
        return (*self.growth, *(self.kept.charts if self.kept else ()))


def inside_section(
    found: Bisected, key: str, precision: PrecisionTrials | None = None
) -> InsideSection:
    """Return the section; `key` sets its charts' names apart from other sides'."""
    told = (
        ("Why", why_text(found)),
        ("NaN and infinities", not_finite_text(found)),
        ("Beside it", beside_text(found)),
        ("Also over the limits", also_text(found)),
        ("Looked at", scope_text(found)),
        ("Samples", "; ".join(found.samples)),
        ("Limits", f"those of {found.tolerance}, for every tensor"),
    )
    chart = error_growth(found, f"{key}-growth")
    steps = telling_steps(found)
    headers = ["Tensor", "Operator", "", "RMSE ÷ spread", "Its inputs'", "Its own", "|reference|"]
    rows = [growth_row(step, found) for step in steps]
    if all(step.own_error is None for step in steps):
        headers.pop(5)
        rows = [(*row[:5], *row[6:]) for row in rows]
    what = "Where the error starts" if found.first else "Intermediate tensors"
    return InsideSection(
        title=f"{what}: {start_text(found)}",
        facts=tuple((name, text) for name, text in told if text),
        table=Figures(
            caption="The start, what leads to it and what follows, and the outputs",
            headers=tuple(headers),
            rows=tuple(rows),
            numbers=tuple(range(3, len(headers))),
        ),
        growth=(chart,) if chart else (),
        notices=found.notices,
        kept=precision_section(precision, key, found.limit) if precision else None,
    )
