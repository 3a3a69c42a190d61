"""Errors of outputs as pictures: by size, by place, by channel, by sample, value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.analysis.accuracy.output_diff import OutputDiff, SideDiff
from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.element_errors import ULP_EDGES
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.render.accuracy.validate_phrases import WorstAnswer
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.html.images import Chart, ChartTable, Spec, quantity, tooltip

_POINTS = 2_000
_CHANNELS = 256
_SAMPLES = 2_000


def error_histogram(one: OutputDiff, key: str) -> Chart | None:
    """Elements by |error|; ``None`` where there is no error."""
    filled = [at for at, count in enumerate(one.errors) if count]
    if not filled:
        return None
    rows: list[Spec] = [
        {"from": _edge(at - 1), "to": _edge(at), "count": one.errors[at], "row": f"{at:03}"}
        for at in range(filled[0], filled[-1] + 1)
    ]
    for row in rows:
        row["label"] = f"{row['from']:.2g}"
    spec: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": BLUE, "tooltip": True},
        "encoding": {
            "x": {
                "field": "label",
                "type": "ordinal",
                "sort": None,
                "title": "|error| from",
                "axis": {"labelOverlap": True, "labelAngle": 0},
            },
            "y": quantity("count", "elements"),
            "tooltip": tooltip(**{"from": "from#", "to": "to#", "count": "elements#"}),
        },
    }
    exact = f"{one.zero_errors:,} elements have no error" if one.zero_errors else None
    return Chart(
        key=key,
        title=f"{one.name}: elements by |error|",
        subtitle=(exact,) if exact else (),
        spec=spec,
        table=ChartTable(
            headers=("|error| from", "to", "elements"),
            rows=tuple((f"{r['from']:.3g}", f"{r['to']:.3g}", f"{r['count']:,}") for r in rows),
        ),
    )


def ulp_histogram(one: OutputDiff, key: str) -> Chart | None:
    """Elements by distance in units in the last place; ``None`` where the type has none."""
    if not any(one.ulps):
        return None
    last = max(at for at, count in enumerate(one.ulps) if count)
    rows = [
        {"distance": _ulps(at), "up_to": _up_to(at), "count": one.ulps[at]}
        for at in range(last + 1)
    ]
    spec: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": BLUE},
        "encoding": {
            "x": {
                "field": "up_to",
                "type": "ordinal",
                "sort": None,
                "title": "units in the last place, up to",
                "axis": {"labelAngle": 0, "labelOverlap": True},
            },
            "y": quantity("count", "elements"),
            "tooltip": tooltip(distance="places", count="elements#"),
        },
    }
    return Chart(
        key=key,
        title=f"{one.name}: elements by distance in units in the last place",
        spec=spec,
        table=ChartTable(
            headers=("places", "elements"),
            rows=tuple((str(r["distance"]), f"{r['count']:,}") for r in rows),
        ),
    )


def channel_errors(one: OutputDiff, key: str) -> Chart | None:
    """RMSE of every channel; ``None`` where the output has no channels."""
    found = one.channels
    if found is None:
        return None
    limits = found.rmse_limit or (None,) * len(found.rmse)
    parts = {
        at: rmse / limit if limit else rmse
        for at, (rmse, limit) in enumerate(zip(found.rmse, limits, strict=True))
        if rmse is not None
    }
    shown = sorted(sorted(parts, key=lambda at: -parts[at])[:_CHANNELS])
    rows = [
        {"channel": at, "rmse": found.rmse[at], "largest": found.max_abs_error[at]} for at in shown
    ]
    fewer = len(shown) < len(found.rmse)
    spec: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": BLUE, "width": {"band": 0.8}},
        "encoding": {
            "x": {
                "field": "channel",
                "type": "ordinal",
                "title": f"channel (axis {found.axis})",
                "axis": {"labelOverlap": True, "labelAngle": 0},
            },
            "y": quantity("rmse", "RMSE", axis={"format": "~g"}),
            "tooltip": tooltip(channel="channel", rmse="RMSE#", largest="largest |error|#"),
        },
    }
    return Chart(
        key=key,
        title=f"{one.name}: error by channel",
        subtitle=(
            f"The {len(shown)} of {len(found.rmse):,} nearest to their limits or beyond them",
        )
        if fewer
        else (),
        spec=spec,
        table=ChartTable(
            headers=("channel", "RMSE", "largest |error|"),
            rows=tuple(
                (str(r["channel"]), f"{r['rmse']:.4g}", f"{r['largest']:.4g}") for r in rows
            ),
        ),
    )


def sample_errors(side: SideDiff, key: str) -> Chart | None:
    """RMSE ÷ spread of every sample; ``None`` for one sample alone."""
    rows = [
        {"sample": sample.sample, "name": sample.name, "output": sample.output,
         "error": sample.figures.error_to_spread}
        for sample in side.samples
        if sample.figures is not None and sample.figures.error_to_spread is not None
    ]  # fmt: skip
    if len({row["sample"] for row in rows}) < 2:
        return None
    step = -(-len(rows) // _SAMPLES)
    spec: Spec = {
        "data": {"values": rows[::step]},
        "mark": {"type": "point", "filled": True, "size": 40},
        "encoding": {
            "x": quantity("sample", "sample", axis={"tickMinStep": 1}),
            "y": quantity("error", "RMSE ÷ spread of the reference", axis={"format": "~g"}),
            "color": {"field": "output", "type": "nominal", "title": "output"},
            "tooltip": tooltip(sample="sample", name="name", output="output", error="error#"),
        },
    }
    return Chart(
        key=key,
        title="Error of each sample",
        subtitle=(f"One of {step} is drawn",) if step > 1 else (),
        spec=spec,
        table=ChartTable(
            headers=("sample", "output", "RMSE ÷ spread"),
            rows=tuple(
                (str(r["sample"]), str(r["output"]), f"{r['error']:.4g}")
                for r in rows[:: -(-len(rows) // 200)]
            ),
        ),
    )


def value_pairs(worst: WorstAnswer, key: str) -> Chart | None:
    """Values of a sample's output against the reference's; ``None`` for what are not numbers."""
    kinds = {kind_of(one.dtype) for one in (worst.reference, worst.candidate)}
    if not kinds <= {"float", "int"} or worst.reference.shape != worst.candidate.shape:
        return None
    a, b = (flat_numbers(one).astype(np.float64) for one in (worst.reference, worst.candidate))
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if a.size < 2:
        return None
    at = _picked(a, b)
    low, high = float(min(a.min(), b.min())), float(max(a.max(), b.max()))
    points = [{"r": float(a[one]), "c": float(b[one])} for one in at]
    line: dict[str, Any] = {"values": [{"r": low, "c": low}, {"r": high, "c": high}]}
    x, y = (
        quantity(field, title, scale={"zero": False})
        for field, title in (("r", "reference"), ("c", "this side"))
    )
    spec: Spec = {
        "layer": [
            {
                "data": line,
                "mark": {"type": "line", "color": GREY, "strokeDash": [4, 4]},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 18, "color": VERMILLION},
                "encoding": {
                    "x": x,
                    "y": y,
                    "opacity": {"value": 0.6},
                    "tooltip": tooltip(r="reference#", c="this side#"),
                },
            },
        ]
    }
    fewer = f"{len(at):,} of {a.size:,} values, those with the largest errors among them"
    return Chart(
        key=key,
        title=f"{worst.reference.name} of the worst sample, {worst.sample} ({worst.name})",
        subtitle=(fewer,) if len(at) < a.size else (),
        spec=spec,
        table=ChartTable(
            headers=("reference", "this side"),
            rows=tuple((f"{p['r']:.6g}", f"{p['c']:.6g}") for p in points[:100]),
        ),
    )


def _picked(a: Any, b: Any) -> Sequence[int]:
    """Return some places evenly, and those of the largest errors."""
    if a.size <= _POINTS:
        return range(a.size)
    far = np.argpartition(np.abs(b - a), -200)[-200:]
    even = np.linspace(0, a.size - 1, _POINTS - 200).astype(int)
    return [int(one) for one in np.unique(np.concatenate([far, even]))]


def _edge(at: int) -> float:
    if at < 0:
        return 0.0
    return HISTOGRAM_EDGES[min(at, len(HISTOGRAM_EDGES) - 1)]


def _up_to(at: int) -> str:
    """Return a bin's upper end in few letters: 64k for 65,536."""
    if at >= len(ULP_EDGES):
        return "more"
    edge = ULP_EDGES[at]
    for size, letter in ((1 << 20, "M"), (1 << 10, "k")):
        if edge >= size:
            return f"{edge // size}{letter}"
    return str(edge)


def _ulps(at: int) -> str:
    if at == 0:
        return "0"
    if at >= len(ULP_EDGES):
        return f"> {ULP_EDGES[-1]:,}"
    low, high = ULP_EDGES[at - 1] + 1, ULP_EDGES[at]
    return f"{high:,}" if low == high else f"{low:,} … {high:,}"
