"""The layers against what the GPU could do at most."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.roofline.gpu_limits import GpuLimits
from enginescope.analysis.roofline.roofline import WORST, LayerRoof, Roofline
from enginescope.core.units import format_ms, format_significant
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.facts import Facts
from enginescope.render.charts.roofline import roofline_chart
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section

KEY = "roofline"
_MOST_ROWS = 200


def roofline_of(subject: PageSubject) -> Section | None:
    """Intensity against rate, and the layers that lose most; ``None`` without a plan."""
    view = subject.plan
    if view is None or view.plan.source_schema == "names-only":
        return None
    found = view.roofline
    if found is None:
        return Section(key=KEY, title="Roofline", empty=_no_limits(subject))
    if view.profile is None:
        return Section(key=KEY, title="Roofline", empty=_NO_TIMES)
    worst = found.worst(_MOST_ROWS)
    chart = roofline_chart(view)
    return Section(
        key=KEY,
        title="Roofline",
        answer=_sentence(found, view.total_ms).partition(". ")[0].rstrip("."),
        charts=(chart,) if chart else (),
        tables=_table(subject, worst),
        facts={"sentence": _sentence(found, view.total_ms), "limits": _limits(found.gpu)},
    )


_NO_TIMES = (
    "No layer times, so the loss against the GPU's limits is unknown. The table of layers has "
    "the least time of each layer."
)


def _no_limits(subject: PageSubject) -> str:
    name = subject.device_name
    why = f"The limits of {name} are not known here" if name else "The plan does not name its GPU"
    return f"{why}: name one with enginescope explore … --gpu NAME --html FILE."


def _sentence(found: Roofline, total_ms: float | None) -> str:
    count = len(found.worst(WORST))
    if not count:
        return f"No layer with a known limit on {found.gpu.name} is slower than it."
    which = f"The {count} layers that lose most" if count > 1 else "The layer that loses most"
    saved = format_ms(found.saving_ms(WORST), 3)
    if total_ms:
        saved += f", {format_significant(100 * found.saving_ms(WORST) / total_ms, 2)} % of all"
    said = f"{which} would save {saved}, at the limits of {found.gpu.name}."
    unknown = f" The limit of {found.unknown:,} timed layers is not known."
    return said + unknown if found.unknown else said


def _limits(gpu: GpuLimits) -> Facts:
    peaks = (
        (f"{name}, peak", f"{format_significant(peak)} × 10¹² operations/s")
        for name, peak in gpu.peak_tflops.items()
    )
    return (("Memory, peak", f"{format_significant(gpu.memory_gb_per_s, 4)} GB/s"), *peaks)


def _table(subject: PageSubject, worst: Sequence[LayerRoof]) -> tuple[DataTable, ...]:
    view = subject.plan
    assert view is not None
    own = [view.plan.layers[one.position] for one in worst]

    columns = (
        column("Lost ms", (one.excess_ms for one in worst), 5, meaning="time taken − least time"),
        column(
            "Layer",
            (layer.name for layer in own),
            leads_to=layers.KEY,
            rows_there=tuple(subject.row_of_layer.get(layer.index) for layer in own),
        ),
        column("Mean ms", (one.mean_ms for one in worst), 5),
        column("Least ms", (one.attainable_ms for one in worst), 5),
        column("× least", (one.distance for one in worst), 2),
        column("Bound by", (one.bound for one in worst), is_choice=True),
        column("Memory ms", (one.memory_ms for one in worst), 5, meaning="to move its bytes once"),
        column("Compute ms", (one.compute_ms for one in worst), 5, meaning="at the peak rate"),
        column("Type", (layer.type for layer in own), is_choice=True),
    )
    caption = "Layers by the time they lose against their limit"
    if len(worst) == _MOST_ROWS:
        caption += f", the first {_MOST_ROWS}"
    table = data_table(KEY, caption, ("layer", "layers"), columns)
    return (table,) if table else ()
