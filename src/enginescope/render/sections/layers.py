"""Tables of the layers: each layer, the tactics they run, and those that only rewrite a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from enginescope.analysis.layers.layer_table import LayerRow, TacticShare, tactic_shares
from enginescope.analysis.layers.reformats import (
    ReformatLayer,
    ReformatShare,
    reformats,
    reformats_by,
)
from enginescope.analysis.plans.layer_attributes import LAYER_ATTRIBUTES
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.roofline.roofline import Roofline
from enginescope.core.record import replace
from enginescope.formats.plan.plan_layer import layer_json
from enginescope.judge.units import format_ms, format_significant
from enginescope.records.plan.plan import EXECUTED, Layer
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.facts import shape_text
from enginescope.render.base.figures import Figures, figure
from enginescope.render.charts.card.registry import charts_of
from enginescope.render.html.page_frame import deflated
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "layers"
#: Plans with more layers leave the fields of their file out of the page.
MOST_WITH_FIELDS = 5_000
#: Thousands of tensors share a few shapes.
_shape_text = lru_cache(maxsize=4096)(shape_text)
_CAPTION = "Layers, the slowest first"


def layers(subject: PageSubject) -> Section | None:
    """What is known of each layer, the slowest first; ``None`` without layers."""
    rows = subject.layers
    view = subject.plan
    position = subject.position_of_layer
    at = [position.get(row.index) if row.in_plan else None for row in rows]
    limits = _limits(view.roofline if view else None, at)
    columns = (*_first(subject, rows, limits), *_of_plan(view, at, limits), *_last(rows))
    table = data_table(KEY, _CAPTION, ("layer", "layers"), columns)
    if table is None:
        return None
    idle = tuple(at for at, row in enumerate(rows) if row.is_inert and not row.took_time)
    if len(idle) < len(rows):
        table = replace(table, aside=idle, aside_words="launch nothing")
    facts = {"fields": _fields(subject), "most": f"{MOST_WITH_FIELDS:,}"}
    return Section(key=KEY, title="Layers", answer=_answer(rows), tables=(table,), facts=facts)


def _fields(subject: PageSubject) -> str | None:
    """Return each row's layer as the plan's file has it, deflated; ``None`` for too many."""
    plan = subject.view.run.plan
    if plan is None or len(plan.layers) > MOST_WITH_FIELDS:
        return None
    position = subject.position_of_layer
    fields = [
        layer_json(plan.layers[position[row.index]], plan.source_schema) if row.in_plan else None
        for row in subject.layers
    ]
    return deflated(fields)


def _answer(rows: Sequence[LayerRow]) -> str:
    count = f"{len(rows):,} {'layer' if len(rows) == 1 else 'layers'}"
    active = sum(not row.is_inert for row in rows)
    if active < len(rows):
        count += f": {active:,} {'launches' if active == 1 else 'launch'} work"
    slowest_ms = max((row.time_ms for row in rows if row.time_ms is not None), default=None)
    return f"{count}, the slowest {format_ms(slowest_ms, 3)}" if slowest_ms else count


_Unit: TypeAlias = tuple[str, float, int]


def _unit(values: Iterable[float | None]) -> _Unit:
    """Return the unit that times in ms read best in, its factor, and decimals."""
    longest = max((value for value in values if value is not None), default=1.0)
    return ("µs", 1e3, 2) if longest < 1 else ("ms", 1.0, 5)


def _times(key: str, title: str, values: Sequence[float | None], unit: _Unit) -> DataColumn:
    """Return a column of times, its key and unit added."""
    name, factor, places = unit
    scaled = tuple(None if value is None else value * factor for value in values)
    return DataColumn(title=f"{title} {name}", values=scaled, places=places, key=key)


def _first(
    subject: PageSubject, rows: Sequence[LayerRow], limits: _Limits | None
) -> tuple[DataColumn, ...]:
    """Return what one looks for first: name, time, limit, precision, tactic, findings, type."""
    codes = {
        index: " ".join(dict.fromkeys(one.code for one in found))
        for index, found in subject.findings_of_layer.items()
    }
    found = [codes.get(row.index) if row.in_plan else None for row in rows]
    times = _field(rows, "time_ms")
    return (
        DataColumn(title="Layer", values=_field(rows, "name"), key="name"),
        DataColumn(
            title="Share %",
            values=_field(rows, "share_pct"),
            places=2,
            meaning="of the sum over all layers",
            is_share=True,
        ),
        _times("time", "Time", times, _unit(times)),
        *(limits.shown if limits else ()),
        DataColumn(
            title="Precision",
            values=_field(rows, "precision"),
            meaning="type of the first input",
            is_choice=True,
            key="precision",
        ),
        DataColumn(title="Tactic", values=_field(rows, "tactic"), key="tactic"),
        DataColumn(title="Provider", values=_field(rows, "provider"), is_choice=True),
        column("Findings", found, is_mark=True, key="findings"),
        DataColumn(title="Type", values=_field(rows, "type"), is_choice=True, key="type"),
    )


class _Limits(NamedTuple):
    """Columns of the roofline: those that are shown, and those that readers ask for."""

    shown: tuple[DataColumn, ...]
    hidden: tuple[DataColumn, ...]


def _limits(found: Roofline | None, at: Sequence[int | None]) -> _Limits | None:
    """Return each layer's limit; how far it is from it only where the limit is not a part."""
    if found is None:
        return None
    of_position = {layer.position: layer for layer in found.layers}
    roofs = [None if one is None else of_position.get(one) for one in at]
    whole = [None if roof is None or roof.is_partial else roof for roof in roofs]
    least = [roof.attainable_ms if roof else None for roof in roofs]
    lost = [roof.excess_ms if roof else None for roof in whole]
    unit = _unit([roof.time_ms if roof else None for roof in roofs] if any(lost) else least)
    gpu = found.gpu.name
    bounds = [roof and roof.bound for roof in roofs]
    distance = [roof and roof.distance for roof in whole]
    return _Limits(
        shown=(
            column("× floor", distance, 2, meaning="own time ÷ least time", key="distance"),
            column("Bound by", bounds, is_choice=True, key="bound"),
        ),
        hidden=(
            replace(
                _times("limit", "Floor", least, unit),
                meaning=f"least time on {gpu}",
                is_hidden=any(lost),
            ),
            replace(
                _times("lost", "Above floor", lost, unit),
                meaning="own time − least time",
                is_hidden=True,
            ),
        ),
    )


def _of_plan(
    view: PlanView | None, at: Sequence[int | None], limits: _Limits | None
) -> tuple[DataColumn, ...]:
    if view is None:
        return ()
    is_timed = view.total_ms is not None
    sizes = [None if one is None else view.sizes[one] for one in at]
    works = [None if one is None else view.works[one] for one in at]
    return (
        *(limits.hidden if limits else ()),
        column(
            "MACs, millions",
            [_millions(work.macs) if work else None for work in works],
            3,
            is_hidden=is_timed,
        ),
        column(
            "MAC/byte",
            [work and work.arithmetic_intensity for work in works],
            2,
            meaning="arithmetic intensity",
            is_hidden=True,
        ),
        *_attributes([None if one is None else view.all_layers[one] for one in at]),
        column(
            "Weights, bytes", [size and size.weights_bytes for size in sizes], 0, is_hidden=True
        ),
        column(
            "Footprint, bytes",
            [size and size.footprint_bytes for size in sizes],
            0,
            meaning="weights and activations, without padding",
            is_hidden=is_timed,
        ),
    )


def _attributes(layers: Sequence[Layer | None]) -> tuple[DataColumn, ...]:
    return tuple(
        column(
            one.title,
            [layer and one.value(layer) for layer in layers],
            0 if one.is_number else None,
            meaning=one.meaning,
            is_hidden=True,
        )
        for one in LAYER_ATTRIBUTES
    )


def _last(rows: Sequence[LayerRow]) -> tuple[DataColumn, ...]:
    raw = _field(rows, "raw_ms")
    untimed = all(row.time_ms is None for row in rows)
    return (
        DataColumn(title="Implementation", values=_field(rows, "subtype"), is_hidden=True),
        DataColumn(title="Formats", values=_joined(rows, _format), is_hidden=not untimed),
        DataColumn(
            title="Shapes",
            values=_joined(rows, lambda one: _shape_text(one.shape)),
            is_hidden=not untimed,
        ),
        replace(
            _times("raw", "As profiled", raw, _unit(_field(rows, "time_ms"))),
            meaning="as the profiler reported it, with its own part",
            is_hidden=True,
        ),
        DataColumn(
            title="ONNX nodes",
            values=tuple(", ".join(row.onnx_nodes) or None for row in rows),
            is_hidden=True,
        ),
        DataColumn(
            title="#",
            values=_field(rows, "index"),
            places=0,
            meaning="place in the plan",
            is_hidden=True,
        ),
    )


def _field(rows: Sequence[LayerRow], name: str) -> tuple[Any, ...]:
    return tuple(map(attrgetter(name), rows))


def _joined(rows: Sequence[LayerRow], text: Callable[[Tensor], str]) -> tuple[str | None, ...]:
    """Something of the inputs → the same of the outputs; ``None`` without tensors."""
    return tuple(
        [
            f"{_side(row.inputs, text)} → {_side(row.outputs, text)}"
            if row.inputs or row.outputs
            else None
            for row in rows
        ]
    )


def _side(tensors: Sequence[Tensor], text: Callable[[Tensor], str]) -> str:
    if len(tensors) == 1:
        return text(tensors[0])
    return ", ".join(map(text, tensors)) or "nothing"


def _format(tensor: Tensor) -> str:
    dtype, layout = tensor.dtype, tensor.layout
    # By names: to hash what they name calls Python, for each tensor of the plan.
    return _format_text(dtype and dtype._name_, layout and layout.name)


@lru_cache(maxsize=1024)
def _format_text(dtype: str | None, layout: str | None) -> str:
    return " ".join(part for part in (dtype, layout) if part) or "not known"


def _millions(count: int | None) -> float | None:
    return None if count is None else count / 1e6


TACTICS = "tactics"


def _tactics_answer(shares: Sequence[TacticShare]) -> str:
    first = shares[0].share_pct
    count = f"{len(shares):,} {'tactic' if len(shares) == 1 else 'tactics'}"
    return count if first is None else f"{count}, the first {format_significant(first, 3)} %"


def tactics(subject: PageSubject) -> Section | None:
    """Tactics by time; ``None`` where the plan names none."""
    shares = tactic_shares(subject.view.layers)
    if not any(share.tactic for share in shares):
        return None

    columns = (
        column("Tactic", (share.tactic or "not named" for share in shares)),
        column("Time ms", (share.time_ms for share in shares), 5),
        column("Share %", (share.share_pct for share in shares), 2, is_share=True),
        column("Layers", (share.layers for share in shares), 0),
        column(
            "Names",
            (share.variants for share in shares),
            0,
            meaning="kernels that differ in the hash at the end of their names only",
        ),
        column("Types", (", ".join(share.types) or None for share in shares)),
    )
    table = data_table(TACTICS, "Tactics, most time first", ("tactic", "tactics"), columns)
    return Section(
        key=TACTICS,
        title="Tactics",
        answer=_tactics_answer(shares),
        charts=charts_of(subject.plan, "latency-per-tactic") if subject.plan else (),
        tables=(table,) if table else (),
    )


REFORMATS = "reformats"
_ORIGINS = {
    "QDQ": "QDQ: quantization in the model",
    "REFORMAT": "REFORMAT: inserted by TensorRT",
    None: "the plan does not say",
}
_CONVERSIONS = 30


def reformat_layers(subject: PageSubject) -> Section | None:
    """Reformats by origin, by conversion, and one by one; ``None`` without a plan."""
    run = subject.view.run
    if run.plan is None or run.plan.source_schema in ("names-only", EXECUTED):
        return None
    found = reformats(run.plan, subject.view.layers)
    profile = subject.view.run.profile
    whole_ms = profile.sum_ms if profile else None
    by_origin = reformats_by(found, lambda one: one.origin, whole_ms)
    by_conversion = reformats_by(found, lambda one: one.conversion, whole_ms)
    return Section(
        key=REFORMATS,
        title="Reformats",
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
    times = [one.time_ms for one in by_origin if one.time_ms is not None]
    shares = [one.share_pct for one in by_origin if one.share_pct is not None]
    if not times:
        return f"{what}."
    share = f", {format_significant(sum(shares), 2)} % of the sum over all layers" if shares else ""
    return f"{what}: {format_ms(sum(times), 3)}{share}."


def _shares(caption: str, header: str, shares: Sequence[ReformatShare]) -> Figures:
    return Figures(
        caption=caption,
        headers=(header, "Layers", "Time ms", "Share %"),
        rows=tuple(
            (
                _ORIGINS.get(share.key) or share.key or "not known",
                f"{share.layers:,}",
                figure(share.time_ms),
                figure(share.share_pct, 3),
            )
            for share in shares
        ),
        numbers=(1, 2, 3),
    )


def _table(subject: PageSubject, found: Sequence[ReformatLayer]) -> tuple[DataTable, ...]:
    order = sorted(found, key=lambda one: -(one.time_ms or 0.0))
    rows = subject.row_of_layer

    columns = (
        column("Time ms", (one.time_ms for one in order), 5),
        column(
            "Layer",
            (one.name for one in order),
            leads_to=KEY,
            rows_there=tuple(rows.get(one.index) for one in order),
        ),
        column("From", (one.source for one in order), is_choice=True),
        column("To", (one.target for one in order), is_choice=True),
        column("Origin", (one.origin for one in order), is_choice=True),
        column("Changes", (_changes(one) for one in order), is_choice=True),
    )
    table = data_table(REFORMATS, "Reformats, most time first", ("reformat", "reformats"), columns)
    return (table,) if table else ()


def _changes(one: ReformatLayer) -> str | None:
    if one.changes_type is None or one.changes_layout is None:
        return None
    parts = (("type", one.changes_type), ("layout", one.changes_layout))
    return " and ".join(name for name, does in parts if does) or "neither"
