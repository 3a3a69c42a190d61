"""Every layer, in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from enginescope.analysis.layer_table import LayerRow
from enginescope.model.tensor import DataType, Layout, Tensor
from enginescope.render.data_table import DataColumn, data_table
from enginescope.render.facts import shape_text
from enginescope.render.page_subject import PageSubject
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
    return Section(key=KEY, title="Layers", tables=(table,))


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
    at = [subject.position_of_layer.get(row.index) if row.in_plan else None for row in rows]

    def column(title: str, places: int | None, value: Callable[[int], Any], **more: Any) -> Any:
        values = tuple(None if one is None else value(one) for one in at)
        return DataColumn(title=title, values=values, places=places, **more)

    codes = {
        index: " ".join(dict.fromkeys(one.code for one in found))
        for index, found in subject.findings_of_layer.items()
    }
    sizes, works = view.sizes, view.works
    return (
        column("Findings", None, lambda i: codes.get(view.all_layers[i].index), is_mark=True),
        column("Weights, bytes", 0, lambda i: sizes[i].weights_bytes),
        column(
            "Footprint, bytes",
            0,
            lambda i: sizes[i].footprint_bytes,
            meaning="weights and activations, without padding",
        ),
        column("MACs, millions", 3, lambda i: _millions(works[i].macs)),
        column("MAC/byte", 2, lambda i: works[i].arithmetic_intensity, meaning="intensity"),
        *_limits(subject, column),
    )


def _limits(subject: PageSubject, column: Callable[..., DataColumn]) -> tuple[DataColumn, ...]:
    found = subject.plan.roofline if subject.plan else None
    if found is None:
        return ()
    roofs = {one.position: one for one in found.layers}

    def of(name: str) -> Callable[[int], Any]:
        return lambda at: getattr(roofs[at], name) if at in roofs else None

    gpu = found.gpu.name
    return (
        column("Limit ms", 5, of("attainable_ms"), meaning=f"least time on {gpu}"),
        column("× limit", 2, of("distance"), meaning="time taken ÷ least time"),
        column("Bound by", None, of("bound"), is_choice=True),
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
    return tuple(getattr(row, name) for row in rows)


def _joined(rows: Sequence[LayerRow], text: Callable[[Tensor], str]) -> tuple[str | None, ...]:
    """Something of the inputs → the same of the outputs; ``None`` without tensors."""

    def side(tensors: Sequence[Tensor]) -> str:
        if len(tensors) == 1:
            return text(tensors[0])
        return ", ".join(map(text, tensors)) or "nothing"

    return tuple(
        f"{side(row.inputs)} → {side(row.outputs)}" if row.inputs or row.outputs else None
        for row in rows
    )


def _format(tensor: Tensor) -> str:
    return _format_text(tensor.dtype, tensor.layout)


@lru_cache(maxsize=1024)
def _format_text(dtype: DataType | None, layout: Layout | None) -> str:
    parts = (dtype.value if dtype else None, layout.name if layout else None)
    return " ".join(part for part in parts if part) or "not known"


def _millions(count: int | None) -> float | None:
    return None if count is None else count / 1e6
