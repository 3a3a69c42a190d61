"""The layers against what the GPU could do at most: sentence and chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.gpu_limits import GpuLimits, rate_precision
from enginescope.analysis.roofline.roofline import WORST
from enginescope.core.record import replace
from enginescope.judge.units import format_significant
from enginescope.render.charts.card.scatter import scatter
from enginescope.render.charts.distribution import log_axis
from enginescope.render.html.images import Chart, Spec, marks
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.plans.plan_tables import limit_sentence
from enginescope.render.sections.section import Section, known

_NO_TIMES = (
    "No layer times, so the loss against the GPU's limits is unknown. The table of layers has "
    "the least time of each layer."
)
_NO_POINTS = (
    "No layer that multiplies has a time, known work and known bytes, so there are no points."
)
_HEIGHT = 380
#: Precisions whose operations run at the rate of another one, where no own rate is known.
_RATE_OF = {"TF32": "FP32"}
_MILLION = 1e6


def roofline_of(subject: PageSubject) -> Section | None:
    """Intensity against rate, and what layers lose together; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    found, key, title = view.roofline, "roofline", "Roofline"
    if found is None or view.profile is None:
        empty = _no_limits(subject.device_name) if found is None else _NO_TIMES
        return Section(key=key, title=title, empty=empty)
    chart = roofline_chart(view)
    gpu = found.gpu
    rates = [f"{name} {format_significant(peak)}" for name, peak in gpu.peak_tflops.items()]
    memory = f"memory {format_significant(gpu.memory_gb_per_s, 4)} GB/s"
    peaks = f"Peaks of {gpu.name}: {memory}; 10¹² operations/s: {', '.join(rates)}."
    return Section(
        key=key,
        title=title,
        sentences=(limit_sentence(found, view.engine_ms, WORST),),
        notes=known(peaks, None if chart else _NO_POINTS),
        charts=known(chart),
    )


def _no_limits(name: str | None) -> str:
    why = f"The limits of {name} are not known here" if name else "The plan does not name its GPU"
    return f"{why}: name one with enginescope explore … --gpu NAME --html FILE."


def roofline_chart(view: PlanView) -> Chart | None:
    """Rate against intensity of the layers that multiply, under the GPU's limits.

    ``None`` without a GPU, or where no layer has a time, work and bytes.
    """
    found, chart = view.roofline, scatter(view, x="intensity", y="compute")
    if found is None or chart is None:
        return None
    rows = [row for row in view.facts if row.time_ms and row.work.arithmetic_intensity]
    precisions = list(dict.fromkeys(rate_precision(row.layer) or "" for row in rows))
    values = chart.spec["data"]["values"]
    ends = (min(one["x"] for one in values) / 2, max(one["x"] for one in values) * 2)
    lines = list(_limit_lines(found.gpu, precisions, ends))
    every = (*values, *lines)
    place = {
        axis: {**chart.spec["encoding"][axis], **log_axis([one[axis] for one in every])}
        for axis in ("x", "y")
    }
    legend = {"title": "limits", "symbolType": "stroke", "orient": "top", "labelLimit": 300}
    dash = {"field": "limit", "type": "nominal", "legend": legend}
    points = {**chart.spec, "encoding": {**chart.spec["encoding"], **place}}
    line = {"type": "line", "strokeDash": [5, 3], "tooltip": False}
    limits = marks(lines, line, **place, detail={"field": "limit"}, strokeDash=dash)
    return replace(
        chart,
        key="roofline",
        title=f"Layers that multiply under the limits of {found.gpu.name}",
        spec={"layer": [limits, points]},
        height=_HEIGHT,
    )


def _limit_lines(
    gpu: GpuLimits, precisions: Sequence[str], ends: tuple[float, float]
) -> Iterator[Spec]:
    """Yield ends and ridge of the limit of each precision; rates in billion MACs per second."""
    low, high = ends
    for precision in precisions:
        macs = gpu.macs_per_ms(precision) or gpu.macs_per_ms(_RATE_OF.get(precision, ""))
        if macs is None:
            continue
        ridge = macs / gpu.bytes_per_ms
        name = f"{precision}: {format_significant(macs / 1e9)} × 10¹²/s"
        for x in sorted({low, max(ridge, low), max(high, ridge * 2)}):
            yield {"limit": name, "x": x, "y": min(macs, x * gpu.bytes_per_ms) / _MILLION}
