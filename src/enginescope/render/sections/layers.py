"""Every layer, in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from enginescope.analysis.layers.layer_table import LayerRow
from enginescope.core.units import format_ms
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import DataColumn, column, data_table
from enginescope.render.base.facts import shape_text
from enginescope.render.plans.plan_headline import PageSubject
from enginescope.render.sections.section import Section

KEY = "layers"
#: Thousands of tensors share a few shapes.
_shape_text = lru_cache(maxsize=4096)(shape_text)
_CAPTION = "Layers, the slowest first"


def layers(subject: PageSubject) -> Section | None:
    """What is known of each layer, the slowest first; ``None`` without layers."""
    rows = subject.layers
    columns = (*_own(rows), *_of_plan(subject, rows), *_last(rows))
    table = data_table(KEY, _CAPTION, ("layer", "layers"), columns)
    if table is None:
        return None
    return Section(key=KEY, title="Layers", answer=_answer(rows), tables=(table,))


def _answer(rows: Sequence[LayerRow]) -> str:
    count = f"{len(rows):,} {'layer' if len(rows) == 1 else 'layers'}"
    slowest_ms = max((row.mean_ms for row in rows if row.mean_ms is not None), default=None)
    return f"{count}, the slowest {format_ms(slowest_ms, 3)}" if slowest_ms else count


def _own(rows: Sequence[LayerRow]) -> tuple[DataColumn, ...]:
    return (
        DataColumn(title="#", values=_field(rows, "index"), places=0, meaning="place in the plan"),
        DataColumn(title="Layer", values=_field(rows, "name")),
        DataColumn(title="Mean ms", values=_field(rows, "mean_ms"), places=5),
        DataColumn(
            title="Share %",
            values=_field(rows, "share_pct"),
            places=2,
            meaning="of the sum over all layers",
            is_share=True,
        ),
        DataColumn(title="Type", values=_field(rows, "type"), is_choice=True),
        DataColumn(
            title="Precision",
            values=_field(rows, "precision"),
            meaning="type of the first input",
            is_choice=True,
        ),
        DataColumn(title="Provider", values=_field(rows, "provider"), is_choice=True),
    )


def _of_plan(subject: PageSubject, rows: Sequence[LayerRow]) -> tuple[DataColumn, ...]:
    view = subject.plan
    if view is None:
        return ()
    position = subject.position_of_layer
    at = [position.get(row.index) if row.in_plan else None for row in rows]
    sizes = [None if one is None else view.sizes[one] for one in at]
    works = [None if one is None else view.works[one] for one in at]
    codes = {
        index: " ".join(dict.fromkeys(one.code for one in found))
        for index, found in subject.findings_of_layer.items()
    }
    return (
        column(
            "Findings",
            [codes.get(row.index) if row.in_plan else None for row in rows],
            is_mark=True,
        ),
        column("Weights, bytes", [size and size.weights_bytes for size in sizes], 0),
        column(
            "Footprint, bytes",
            [size and size.footprint_bytes for size in sizes],
            0,
            meaning="weights and activations, without padding",
        ),
        column("MACs, millions", [_millions(work.macs) if work else None for work in works], 3),
        column(
            "MAC/byte",
            [work and work.arithmetic_intensity for work in works],
            2,
            meaning="intensity",
        ),
        *_limits(subject, at),
    )


def _limits(subject: PageSubject, at: Sequence[int | None]) -> tuple[DataColumn, ...]:
    found = subject.plan.roofline if subject.plan else None
    if found is None:
        return ()
    of_position = {layer.position: layer for layer in found.layers}
    roofs = [None if one is None else of_position.get(one) for one in at]

    def of(name: str) -> list[Any]:
        return [None if roof is None else getattr(roof, name) for roof in roofs]

    gpu = found.gpu.name
    return (
        column("Limit ms", of("attainable_ms"), 5, meaning=f"least time on {gpu}"),
        column("× limit", of("distance"), 2, meaning="time taken ÷ least time"),
        column("Bound by", of("bound"), is_choice=True),
    )


def _last(rows: Sequence[LayerRow]) -> tuple[DataColumn, ...]:
    return (
        DataColumn(title="Tactic", values=_field(rows, "tactic")),
        DataColumn(title="Implementation", values=_field(rows, "subtype")),
        DataColumn(title="Formats", values=_joined(rows, _format)),
        DataColumn(title="Shapes", values=_joined(rows, lambda one: _shape_text(one.shape))),
        DataColumn(title="Median ms", values=_field(rows, "median_ms"), places=5),
        DataColumn(
            title="ONNX nodes", values=tuple(", ".join(row.onnx_nodes) or None for row in rows)
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
