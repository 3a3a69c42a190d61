"""The report card: sections of charts about a plan, in their order.

Weights, activations and footprints of the layers.
The plan at a glance: order, spread, types.
Operations in pointwise layers and generated kernels.
Precisions of the layers.
Convolutions and matrix products: what they compute, how well.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import TypeTable, type_tables
from enginescope.analysis.roofline.matrix_product import CONVOLUTION_TYPES
from enginescope.core.record import Record
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_significant
from enginescope.render.base.figures import Figures
from enginescope.render.charts.card.registry import PLAN_CHARTS, PRODUCT_TYPES, charts_of
from enginescope.render.charts.card.wording import figure, shape
from enginescope.render.html.images import Chart
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

_CHARTS = (
    "footprint-per-layer",
    "weights-per-layer",
    "activations-per-layer",
    "live-activations",
    "weights-distribution",
    "activations-distribution",
    "footprint-distribution",
)
_NOTHING = "The plan has no sizes of tensors."


def card_memory(subject: PageSubject) -> Section | None:
    """What layers keep, read and write, in order and in size; ``None`` without a plan."""
    if subject.plan is None or subject.plan.plan.source_schema == "names-only":
        return None
    charts = charts_of(subject.plan, *_CHARTS)
    return Section(
        key="card-memory",
        title="Memory of the layers",
        answer=_sizes(subject.plan),
        charts=charts,
        empty=None if charts else _NOTHING,
        facts={"hidden": _hidden(subject.plan)},
    )


def _sizes(view: PlanView) -> str:
    totals = view.totals
    weights, moved = format_bytes(totals.weights_bytes), format_bytes(totals.activation_bytes)
    return f"weights {weights}; activations {moved}, read and written"


def _hidden(view: PlanView) -> str | None:
    """Say that what is inside some layers is not in the plan."""
    count = view.totals.whole_parts
    if not count:
        return None
    stand = "stands" if count == 1 else "stand"
    return (
        f"{counted(count, 'layer')} {stand} for a part of the network (Myelin, ForeignNode): "
        "the plan does not list its weights and tensors, so they are missing below."
    )


_OVERVIEW_CHARTS = (
    "latency-in-order",
    "cumulative-latency",
    "latency-distribution",
    "count-per-type",
    "precision-per-type",
)
NO_TIMES = (
    "No profile: layers cannot be timed. What follows counts layers instead; trtexec writes their "
    "times with --exportProfile, and enginescope bench takes them by default."
)
_MOST_TYPES = 40


class TypeDetails(Record, frozen=True, kw_only=True):
    """A sentence on a type of layer, and its slowest layers."""

    sentence: str
    table: Figures


def card_overview(subject: PageSubject) -> Section | None:
    """Charts of the whole plan, and each type of layer by itself; ``None`` without layers."""
    view = subject.plan
    if view is None or not view.facts or view.plan.source_schema == "names-only":
        return None
    tables, charts = type_tables(view), charts_of(view, *_OVERVIEW_CHARTS)
    return Section(
        key="card-overview",
        title="The plan at a glance",
        answer=next((one.title for one in charts if one.key == "cumulative-latency"), None),
        charts=charts,
        facts={
            "no_times": None if view.total_ms is not None else NO_TIMES,
            "types": tuple(_details(table) for table in tables[:_MOST_TYPES]),
            "more_types": max(0, len(tables) - _MOST_TYPES),
        },
    )


def type_sentence(one: TypeTable) -> str:
    """Return ``There are 53 Convolution layers, which account for 81.5 % (0.383 ms)``."""
    group = one.group
    is_one = group.layers == 1
    start = (
        f"There is 1 {group.key} layer, which accounts"
        if is_one
        else f"There are {counted(group.layers, f'{group.key} layer')}, which account"
    )
    if group.time_ms is None or group.share_pct is None:
        return start.partition(",")[0]
    return (
        f"{start} for {format_significant(group.share_pct)} % "
        f"({format_significant(group.time_ms)} ms) of the layers' time"
    )


def _details(one: TypeTable) -> TypeDetails:
    rows = tuple(_row(row, one.fields) for row in one.slowest)
    some = len(rows) < one.group.layers
    return TypeDetails(
        sentence=type_sentence(one),
        table=Figures(
            caption=f"The {len(rows)} slowest; every layer is in the table of layers"
            if some
            else "The slowest first",
            headers=("Layer", "Mean, ms", "Share, %", "Reads", "Writes", "Footprint", *one.fields),
            rows=rows,
            numbers=(1, 2, 5),
        ),
    )


def _row(row: LayerFacts, fields: tuple[str, ...]) -> tuple[str, ...]:
    share = 100 * row.time_ms / row.whole_ms if row.time_ms is not None and row.whole_ms else None
    footprint = row.size.footprint_bytes
    return (
        row.layer.name,
        figure(row.time_ms),
        figure(share, 3),
        row.precision or "—",
        row.output_precision or "—",
        format_bytes(footprint) if footprint is not None else "—",
        *(_field(row.layer.attributes.get(name)) for name in fields),
    )


def _field(value: Any) -> str:
    if value is None or value == []:
        return "—"
    if isinstance(value, list) and all(type(one) is int for one in value):
        return shape(value)
    return str(value)


def card_pointwise(subject: PageSubject) -> Section | None:
    """Operations with the time of the layers that hold them; ``None`` where there are none."""
    charts = charts_of(subject.plan, "pointwise-operations") if subject.plan else ()
    if not charts:
        return None
    return Section(key="card-pointwise", title="Pointwise operations", charts=charts)


_PRECISION_CHARTS = (
    "precision-rollup",
    "precision-changes",
    "precision-per-layer",
    "output-precision-per-layer",
)
_PRECISION_NOTHING = (
    "The plan has no precisions: it was built or written without detailed verbosity."
)


def _is_trivial(chart: Chart) -> bool:
    """Whether it shows but one type, which the first chart says already."""
    if chart.key == "precision-rollup":
        return False
    rows = chart.spec["data"]["values"]
    return len({row.get("group", (row.get("from"), row.get("to"))) for row in rows}) == 1


def card_precision(subject: PageSubject) -> Section | None:
    """What part each precision has, and where precisions change; ``None`` without a plan."""
    if subject.plan is None or subject.plan.plan.source_schema == "names-only":
        return None
    charts = tuple(
        one for one in charts_of(subject.plan, *_PRECISION_CHARTS) if not _is_trivial(one)
    )
    known = any(chart.key == "precision-rollup" for chart in charts)
    return Section(
        key="card-precision",
        title="Precisions",
        answer=charts[0].title.partition(": ")[2] if known else None,
        charts=charts,
        empty=None if known else _PRECISION_NOTHING,
    )


_CONVOLUTIONS = (
    "latency-per-convolution",
    "convolutions-by-kernel",
    "convolutions-by-groups",
    "convolutions-macs",
    "convolutions-footprint",
    "convolutions-intensity",
    "convolutions-compute",
    "convolutions-bandwidth",
    "convolutions-mnk",
)
_PRODUCTS = ("latency-per-matrix-product", "products-mnk", "products-compute")
_NO_TIMES = "No layer times, so their use of the GPU is unknown."
_NO_SIZES = "No times and no known shapes, so these layers are not drawn."


def card_convolutions(subject: PageSubject) -> Section | None:
    """Convolutions by time, kernel, groups and rates; ``None`` where there are none."""
    return _section(subject, "card-convolutions", "Convolutions", CONVOLUTION_TYPES, _CONVOLUTIONS)


def card_matrix_products(subject: PageSubject) -> Section | None:
    """Matrix products by time, sides and rates; ``None`` where there are none."""
    return _section(subject, "card-products", "Matrix products", PRODUCT_TYPES, _PRODUCTS)


def _slowest(view: PlanView, name: str, types: Collection[str]) -> tuple[Chart, ...]:
    """The slowest, colored by what tells them apart."""
    several = len({row.precision for row in view.facts if row.layer.type in types}) > 1
    chart = PLAN_CHARTS[name].make(view, top=20, color="precision" if several else "intensity")
    return (chart,) if chart else ()


def _section(
    subject: PageSubject, key: str, title: str, types: Collection[str], names: tuple[str, ...]
) -> Section | None:
    view = subject.plan
    if view is None or not any(layer.type in types for layer in view.layers):
        return None
    charts = (*_slowest(view, names[0], types), *charts_of(view, *names[1:]))
    return Section(
        key=key,
        title=title,
        answer=_share(view, types),
        charts=charts,
        empty=None if charts else _NO_SIZES,
        facts={"no_times": _NO_TIMES if view.total_ms is None else None},
    )


def _share(view: PlanView, types: Collection[str]) -> str:
    count = counted(sum(layer.type in types for layer in view.layers), "layer")
    times = [row.time_ms for row in view.facts if row.layer.type in types]
    if view.total_ms is None or None in times:
        return count
    share = 100 * sum(one for one in times if one is not None) / view.total_ms
    return f"{count}, {format_significant(share, 3)} % of the time"


def report_card(subject: PageSubject) -> tuple[Section | None, ...]:
    """Return the sections of the report card; those that do not apply are ``None``."""
    return (
        card_overview(subject),
        card_precision(subject),
        card_memory(subject),
        card_convolutions(subject),
        card_matrix_products(subject),
        card_pointwise(subject),
    )
