"""Errors of outputs as pictures: by size, by place, by channel, by sample, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from enginescope.analysis.accuracy.output_diff import OutputDiff, SideDiff
from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.errors.error_moments import HISTOGRAM_EDGES
from enginescope.render.accuracy.validate_phrases import WorstAnswer
from enginescope.render.base.palette import BLUE, GREY, VERMILLION
from enginescope.render.html.images import Chart, ChartTable, Spec, marks, quantity, tooltip

_POINTS = 2_000
_CHANNELS = 256
_SAMPLES = 2_000
#: Outputs that are drawn, those that fail first.
MOST_DRAWN = 6


def output_charts(key: str, diff: SideDiff, worst: Sequence[WorstAnswer]) -> Iterator[Chart]:
    """Yield the pictures of a side: its worst sample, each sample, and each output.

    Args:
        key: Begins the names of the charts; no other's.
    """
    drawn = sorted(diff.outputs, key=lambda one: one.passes)[:MOST_DRAWN]
    charts = [_value_pairs(one, f"{key}-values") for one in worst[:1]]
    charts.append(_sample_errors(diff, f"{key}-samples"))
    for at, one in enumerate(drawn):
        charts += [
            _error_histogram(one, f"{key}-o{at}-errors"),
            _channel_errors(one, f"{key}-o{at}-channels"),
        ]
    yield from (chart for chart in charts if chart is not None)


def _error_histogram(one: OutputDiff, key: str) -> Chart | None:
    """Elements by |error|; ``None`` where there is no error."""
    filled = [at for at, count in enumerate(one.errors) if count]
    if not filled:
        return None
    exact = f"{one.zero_errors:,} elements have no error" if one.zero_errors else None
    return _bars(
        key,
        f"{one.name}: elements by |error|",
        ("|error| from", "to", "elements"),
        [
            (f"{_edge(at - 1):.3g}", f"{_edge(at):.3g}", one.errors[at])
            for at in range(filled[0], filled[-1] + 1)
        ],
        subtitle=exact,
    )


def _channel_errors(one: OutputDiff, key: str) -> Chart | None:
    """RMSE of every channel; ``None`` where the output has no channels, or no error."""
    found = one.channels
    if found is None:
        return None
    limits = found.rmse_limit or (None,) * len(found.rmse)
    parts = {
        at: rmse / limit if limit else rmse
        for at, (rmse, limit) in enumerate(zip(found.rmse, limits, strict=True))
        if rmse is not None
    }
    if not any(parts.values()):
        return None
    shown = sorted(sorted(parts, key=lambda at: -parts[at])[:_CHANNELS])
    fewer = f"The {len(shown)} of {len(found.rmse):,} nearest to their limits or beyond them"
    return _bars(
        key,
        f"{one.name}: error by channel",
        (f"channel (axis {found.axis})", "largest |error|", "RMSE"),
        [(str(at), f"{found.max_abs_error[at]:.4g}", found.rmse[at]) for at in shown],
        subtitle=fewer if len(shown) < len(found.rmse) else None,
    )


def _bars(
    key: str,
    title: str,
    headers: tuple[str, str, str],
    rows: Sequence[tuple[str, str, Any]],
    *,
    subtitle: str | None = None,
) -> Chart:
    """Return a bar for each row: its place, what a tooltip tells besides, and its height."""
    place, beside, height = headers
    values = [dict(zip(("place", "beside", "height"), row, strict=True)) for row in rows]
    labels = {"labelAngle": 0, "labelOverlap": True}
    return Chart(
        key=key,
        title=title,
        subtitle=(subtitle,) if subtitle else (),
        spec=marks(
            values,
            {"type": "bar", "color": BLUE, "width": {"band": 0.9}},
            x={"field": "place", "type": "ordinal", "sort": None, "title": place, "axis": labels},
            y=quantity("height", height, axis={"format": "~g"} if height == "RMSE" else {}),
            tooltip=tooltip(place=place, beside=beside, height=f"{height}#"),
        ),
        table=ChartTable(
            headers=headers,
            rows=tuple((a, b, f"{c:,}" if isinstance(c, int) else f"{c:.4g}") for a, b, c in rows),
        ),
    )


def _sample_errors(side: SideDiff, key: str) -> Chart | None:
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
    spec = marks(
        rows[::step],
        {"type": "point", "filled": True, "size": 40},
        x=quantity("sample", "sample", axis={"tickMinStep": 1}),
        y=quantity("error", "RMSE ÷ spread of the reference", axis={"format": "~g"}),
        color={"field": "output", "type": "nominal", "title": "output"},
        tooltip=tooltip(sample="sample", name="name", output="output", error="error#"),
    )
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


def _value_pairs(worst: WorstAnswer, key: str) -> Chart | None:
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
    x, y = (
        quantity(field, title, scale={"zero": False})
        for field, title in (("r", "reference"), ("c", "this side"))
    )
    equal: list[Spec] = [{"r": low, "c": low}, {"r": high, "c": high}]
    point = {"type": "point", "filled": True, "size": 18, "color": VERMILLION, "opacity": 0.6}
    layers = [
        marks(equal, {"type": "line", "color": GREY, "strokeDash": [4, 4]}, x=x, y=y),
        marks(points, point, x=x, y=y, tooltip=tooltip(r="reference#", c="this side#")),
    ]
    fewer = f"{len(at):,} of {a.size:,} values, those with the largest errors among them"
    return Chart(
        key=key,
        title=f"{worst.reference.name} of the worst sample, {worst.sample} ({worst.name})",
        subtitle=(fewer,) if len(at) < a.size else (),
        spec={"layer": layers},
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
