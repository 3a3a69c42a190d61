"""Layers that only rewrite a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.layers.reformats import (
    ReformatLayer,
    ReformatShare,
    reformats,
    reformats_by,
)
from enginescope.core.units import format_ms, format_significant
from enginescope.render.base.data_table import DataTable, column, data_table
from enginescope.render.base.figures import Figures, figure
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections import layers
from enginescope.render.sections.section import Section

KEY = "reformats"
_ORIGINS = {
    "QDQ": "QDQ: quantisation in the model",
    "REFORMAT": "REFORMAT: inserted by TensorRT",
    None: "the plan does not say",
}
_CONVERSIONS = 30


def reformat_layers(subject: PageSubject) -> Section | None:
    """Reformats by origin, by conversion, and one by one; ``None`` without a plan."""
    run = subject.view.run
    if run.plan is None or run.plan.source_schema == "names-only":
        return None
    found = reformats(run.plan, subject.view.layers)
    profile = subject.view.run.profile
    whole_ms = profile.sum_mean_ms if profile else None
    by_origin = reformats_by(found, lambda one: one.origin, whole_ms)
    by_conversion = reformats_by(found, lambda one: one.conversion, whole_ms)
    return Section(
        key=KEY,
        title="Reformats",
        answer=_sentence(by_origin).rstrip("."),
        charts=charts_of(subject.plan, "reformats-by-origin") if subject.plan else (),
        tables=_table(subject, found),
        empty=None if found else "No layer of this plan only rewrites a tensor.",
        facts={
            "sentence": _sentence(by_origin),
            "origins": _shares("By origin", "Origin", by_origin),
            "conversions": _shares("By conversion", "From → to", by_conversion[:_CONVERSIONS]),
            "more": max(0, len(by_conversion) - _CONVERSIONS),
        },
    )


def _sentence(by_origin: Sequence[ReformatShare]) -> str:
    count = sum(one.layers for one in by_origin)
    what = "1 layer only rewrites a tensor" if count == 1 else f"{count:,} layers rewrite a tensor"
    times = [one.mean_ms for one in by_origin if one.mean_ms is not None]
    shares = [one.share_pct for one in by_origin if one.share_pct is not None]
    if not times:
        return f"{what}."
    share = f", {format_significant(sum(shares), 2)} % of the sum over all layers" if shares else ""
    return f"{what}: {format_ms(sum(times), 3)}{share}."


def _shares(caption: str, header: str, shares: Sequence[ReformatShare]) -> Figures:
    return Figures(
        caption=caption,
        headers=(header, "Layers", "Mean ms", "Share %"),
        rows=tuple(
            (
                _ORIGINS.get(share.key) or share.key or "not known",
                f"{share.layers:,}",
                figure(share.mean_ms),
                figure(share.share_pct, 3),
            )
            for share in shares
        ),
        numbers=(1, 2, 3),
    )


def _table(subject: PageSubject, found: Sequence[ReformatLayer]) -> tuple[DataTable, ...]:
    order = sorted(found, key=lambda one: -(one.mean_ms or 0.0))
    rows = subject.row_of_layer

    columns = (
        column("Mean ms", (one.mean_ms for one in order), 5),
        column(
            "Layer",
            (one.name for one in order),
            leads_to=layers.KEY,
            rows_there=tuple(rows.get(one.index) for one in order),
        ),
        column("From", (one.source for one in order), is_choice=True),
        column("To", (one.target for one in order), is_choice=True),
        column("Origin", (one.origin for one in order), is_choice=True),
        column("Changes", (_changes(one) for one in order), is_choice=True),
    )
    table = data_table(KEY, "Reformats, most time first", ("reformat", "reformats"), columns)
    return (table,) if table else ()


def _changes(one: ReformatLayer) -> str | None:
    if one.changes_type is None or one.changes_layout is None:
        return None
    parts = (("type", one.changes_type), ("layout", one.changes_layout))
    return " and ".join(name for name, does in parts if does) or "neither"
