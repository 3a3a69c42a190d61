"""The layers against what the GPU could do at most: sentence and chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits, rate_precision
from enginescope.analysis.roofline.roofline import WORST, LayerRoof, Roofline
from enginescope.judge.units import format_ms, format_significant
from enginescope.render.base.facts import Facts
from enginescope.render.base.palette import precision_color
from enginescope.render.base.phrases import profiler_part
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, Spec, quantity, tooltip
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "roofline"


def roofline_of(subject: PageSubject) -> Section | None:
    """Intensity against rate, and what layers lose together; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    found = view.roofline
    if found is None:
        return Section(key=KEY, title="Roofline", empty=_no_limits(subject))
    if view.profile is None:
        return Section(key=KEY, title="Roofline", empty=_NO_TIMES)
    chart = roofline_chart(view)
    return Section(
        key=KEY,
        title="Roofline",
        charts=(chart,) if chart else (),
        facts={"sentence": _sentence(found, view.engine_ms), "limits": _limits(found.gpu)},
    )


_NO_TIMES = (
    "No layer times, so the loss against the GPU's limits is unknown. The table of layers has "
    "the least time of each layer."
)


def _no_limits(subject: PageSubject) -> str:
    name = subject.device_name
    why = f"The limits of {name} are not known here" if name else "The plan does not name its GPU"
    return f"{why}: name one with enginescope explore … --gpu NAME --html FILE."


def _sentence(found: Roofline, engine_ms: float | None) -> str:
    count = len(found.worst(WORST))
    if not count:
        return f"No layer with a known limit on {found.gpu.name} is slower than it."
    which = f"The {count} layers that lose most" if count > 1 else "The layer that loses most"
    saved = format_ms(found.saving_ms(WORST), 3)
    if engine_ms:
        saved += f", {format_significant(100 * found.saving_ms(WORST) / engine_ms, 2)} % of all"
    said = f"{which} would save {saved}, at the limits of {found.gpu.name}"
    said += f", {profiler_part(found.profiler_ms)}." if found.profiler_ms is not None else "."
    unknown = f" The limit of {found.unknown:,} timed layers is not known."
    return said + unknown if found.unknown else said


def _limits(gpu: GpuLimits) -> Facts:
    peaks = (
        (f"{name}, peak", f"{format_significant(peak)} × 10¹² operations/s")
        for name, peak in gpu.peak_tflops.items()
    )
    return (("Memory, peak", f"{format_significant(gpu.memory_gb_per_s, 4)} GB/s"), *peaks)


#: Layers drawn: more points than that hide each other.
MOST_POINTS = 400
_OPERATION = "An operation is a multiplication or an addition; large points took long."
_HEIGHT = 380


def roofline_chart(view: PlanView) -> Chart | None:
    """Rate against intensity of the slowest layers that multiply, and the GPU's limits.

    ``None`` without a GPU, or where no layer has a time, work and bytes.
    """
    found = view.roofline
    if found is None:
        return None
    roofs = [layer for layer in found.layers if layer.time_ms and _intensity(view, layer)]
    roofs.sort(key=lambda one: -(one.time_ms or 0.0))
    points = [_point(view, roof) for roof in roofs[:MOST_POINTS]]
    if not points:
        return None
    lines = _limit_lines(found.gpu, points)
    return Chart(
        key="roofline",
        title=f"Layers under the limits of {found.gpu.name}",
        subtitle=(_which(view, roofs, len(points)), _OPERATION),
        spec=_spec(points, lines),
        height=_HEIGHT,
    )


def _intensity(view: PlanView, roof: LayerRoof) -> float | None:
    return view.works[roof.position].arithmetic_intensity


def _which(view: PlanView, roofs: Sequence[LayerRoof], drawn: int) -> str:
    total_ms = view.engine_ms
    shown_ms = sum(roof.time_ms or 0.0 for roof in roofs[:drawn])
    share = f"{format_significant(100 * shown_ms / total_ms)} % of the time; " if total_ms else ""
    which = f"{drawn:,}" if drawn == len(roofs) else f"the {drawn:,} slowest of {len(roofs):,}"
    return f"{which} layers that multiply, {share}others only move data: the table has them"


def _point(view: PlanView, roof: LayerRoof) -> Spec:
    layer, work = view.plan.layers[roof.position], view.works[roof.position]
    precision = rate_precision(layer)
    macs, time_ms = work.macs or 0, roof.time_ms or 1.0
    return {
        "name": layer.name,
        "type": layer.type,
        "precision": layer.precision.value if layer.precision else "not known",
        "rate_of": precision,
        "intensity": 2 * (work.arithmetic_intensity or 0.0),
        "rate": 2 * macs / time_ms / 1e9,
        "ms": roof.time_ms,
        "limit": roof.attainable_ms,
        "distance": roof.distance,
        "bound": roof.bound or "not known",
    }


def _limit_lines(gpu: GpuLimits, points: Sequence[Spec]) -> list[Spec]:
    """Ends and ridge of the limit for each precision that a point has."""
    low = min(point["intensity"] for point in points) / 2
    high = max(point["intensity"] for point in points) * 2
    per_byte = gpu.bytes_per_ms / 1e9
    lines = []
    for precision in dict.fromkeys(point["rate_of"] for point in points):
        macs = gpu.macs_per_ms(precision or "") or (
            gpu.macs_per_ms("FP32") if precision == "TF32" else None
        )
        if macs is None:
            continue
        peak = 2 * macs / 1e9
        ridge = peak / per_byte
        xs = sorted({low, min(max(ridge, low), max(high, ridge * 2)), max(high, ridge * 2)})
        name = f"{precision}: {format_significant(peak)} × 10¹²/s"
        lines += [{"limit_of": name, "intensity": x, "rate": min(peak, x * per_byte)} for x in xs]
    return lines


def _spec(points: list[Spec], lines: list[Spec]) -> Spec:
    every = (*points, *lines)
    intensities = [one["intensity"] for one in every if one["intensity"] > 0]
    x = quantity("intensity", "operations per byte moved", **log_axis(intensities))
    rates = [one["rate"] for one in every]
    y = quantity("rate", "10¹² operations per second", **log_axis(rates))
    names = list(dict.fromkeys(point["precision"] for point in points))
    color: dict[str, Any] = {
        "field": "precision",
        "type": "nominal",
        "scale": {"domain": names, "range": [precision_color(name) for name in names]},
        "legend": {"title": "precision of the first input"},
    }
    shown = tooltip(
        name="layer",
        type="type",
        ms="time, ms#",
        limit="least time, ms#",
        distance="times the limit#",
        bound="bound by",
        intensity="operations per byte#",
        rate="10¹² operations/s#",
    )
    size = quantity("ms", "time, ms", scale={"range": [20, 400]}, legend=None)
    return {
        "layer": [
            {
                "data": {"values": lines},
                "mark": {"type": "line", "strokeDash": [5, 3], "tooltip": False},
                "encoding": {
                    "x": x,
                    "y": y,
                    "detail": {"field": "limit_of"},
                    "strokeDash": {
                        "field": "limit_of",
                        "type": "nominal",
                        "legend": {"title": "limits", "symbolType": "stroke", "orient": "top"},
                    },
                },
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "opacity": 0.75},
                "encoding": {"x": x, "y": y, "color": color, "size": size, "tooltip": shown},
            },
        ]
    }
