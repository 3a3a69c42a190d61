"""The plan at a glance: order, spread, types."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.report_card.type_tables import TypeTable, type_tables
from enginescope.core.record import Record
from enginescope.core.units import format_bytes, format_significant
from enginescope.render.base.figures import Figures
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.charts.card.wording import counted, figure, shape
from enginescope.render.plans.page_subject import PageSubject
from enginescope.render.sections.section import Section

_CHARTS = (
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
    tables = type_tables(view)
    return Section(
        key="card-overview",
        title="The plan at a glance",
        charts=charts_of(view, *_CHARTS),
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
    if group.mean_ms is None or group.share_pct is None:
        return start.partition(",")[0]
    return (
        f"{start} for {format_significant(group.share_pct)} % "
        f"({format_significant(group.mean_ms)} ms) of the layers' time"
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
    share = 100 * row.mean_ms / row.whole_ms if row.mean_ms is not None and row.whole_ms else None
    footprint = row.size.footprint_bytes
    return (
        row.layer.name,
        figure(row.mean_ms),
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
