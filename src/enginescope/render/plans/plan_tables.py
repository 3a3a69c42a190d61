"""Tables of a plan, each told once: for the terminal, the page, the workbook and notebooks.

The first column of each has the names of its rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from enginescope.analysis.layers.layer_table import TacticShare, TimeShare
from enginescope.analysis.layers.reformats import ReformatLayer, ReformatShare
from enginescope.analysis.onnx.onnx_map import OnnxMap
from enginescope.analysis.plans.plan_view import ExploredLayer, PlanView
from enginescope.analysis.roofline.roofline import LayerRoof, Roofline
from enginescope.core.record import replace
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.onnx_graph import OnnxGraph
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.data_table import (
    DataColumn,
    DataTable,
    column,
    data_table,
    inert_text,
    number_column,
    or_dash,
)
from enginescope.render.base.figures import TextTable
from enginescope.render.base.phrases import profiler_part

#: Key of the table of layers, to which names of layers lead.
LAYERS = "layers"
LAYER = ("layer", "layers")
#: Column of floors that are too low, since a layer may compute more than is known.
PARTIAL = "Floor is"
#: Column of shares of the sum over all layers.
SHARE = "% of sum"
#: Place in the table of layers of each of the plan's layers, by its index.
RowOfLayer: TypeAlias = Mapping[int, int]


def text_table(
    table: DataTable | None, limit: int, *columns: str, title: str = "", note: str = ""
) -> TextTable | None:
    """Return the first rows of a table as text; numbers of a column have the same decimals.

    Args:
        columns: Titles of those beside the first; by default those that are shown without asking.
        title: In place of the caption.
    """
    if table is None:
        return None
    first, *others = table.columns
    wanted = columns or [one.title for one in table.shown]
    shown = [first, *(one for one in others if one.title in wanted)]
    return TextTable(
        title=title or table.caption,
        headers=tuple(_header(one.title) for one in shown),
        rows=tuple(zip(*(_texts(one, limit) for one in shown), strict=True)),
        numbers=tuple(_header(one.title) for one in shown if one.places is not None),
        note=note or None,
        left_out=max(0, table.length - limit),
        has_long_names=True,
    )


def _header(title: str) -> str:
    lower = title[:1].lower() + title[1:]
    return {"Time ms": "ms", SHARE: "% sum"}.get(title, lower if title[1:2].islower() else title)


def _texts(one: DataColumn, limit: int) -> list[str]:
    values = one.values[:limit]
    if one.texts:
        return list(one.texts[:limit])
    if one.places is None:
        return [or_dash(value, lambda text: inert_text(str(text))) for value in values]
    if one.is_share:
        return [or_dash(value, _percent) for value in values]
    if one.places == 0:
        return [or_dash(value, "{:,}".format) for value in values]
    return number_column(values)


def _percent(value: float) -> str:
    """Return a share with one decimal; a smaller one with its first two digits."""
    return f"{value:.1f}" if value >= 0.05 or not value else format_significant(value, 2)


def layer_table(
    caption: str, layers: Sequence[ExploredLayer], *, has_plan: bool
) -> DataTable | None:
    """Return layers in their order, with their bytes.

    Args:
        has_plan: Whether a layer that is not in the plan says so.
    """
    rows = [one.row for one in layers]
    stray = "(not in the plan) " if has_plan else ""
    columns = (
        column("Layer", (row.name if row.in_plan else f"{stray}{row.name}" for row in rows)),
        column("Time ms", (row.time_ms for row in rows), 5),
        column(SHARE, (row.share_pct for row in rows), 2, is_share=True),
        column("Type", (row.type for row in rows)),
        column("Precision", map(_precisions, layers)),
        *(
            column(
                title,
                sizes,
                0,
                texts=[format_bytes(one) if one else or_dash(one, str) for one in sizes],
            )
            for title, field in SIZES.items()
            for sizes in ([getattr(one.sizes, field) if one.sizes else None for one in layers],)
        ),
    )
    return data_table(LAYERS, caption, LAYER, columns)


#: Columns of bytes -> fields of a layer's sizes.
SIZES = {"Weights": "weights_bytes", "Act.": "activation_bytes", "Both": "footprint_bytes"}


def _precisions(one: ExploredLayer) -> str | None:
    outputs = one.row.outputs
    written = outputs[0].dtype if outputs else None
    before, after = one.row.precision, written and written.value
    return before if after in (before, None) else f"{before or '?'} → {after}"


def share_table(
    caption: str, header: str, shares: Sequence[TimeShare | ReformatShare]
) -> DataTable | None:
    """Return groups of layers with their time."""
    columns = (column(header, (share.key or "not known" for share in shares)), *_times(shares))
    return data_table(caption.lower().replace(" ", "-"), caption, ("group", "groups"), columns)


def _times(shares: Sequence[TimeShare | ReformatShare | TacticShare]) -> tuple[DataColumn, ...]:
    return (
        column("Time ms", (share.time_ms for share in shares), 5),
        column(SHARE, (share.share_pct for share in shares), 2, is_share=True),
        column("Layers", (share.layers for share in shares), 0),
    )


def origin_table(shares: Sequence[ReformatShare]) -> DataTable | None:
    """Return reformats by what made them, in words."""
    words = {"QDQ": "QDQ: quantization in the model", "REFORMAT": "REFORMAT: inserted by TensorRT"}
    told = [replace(one, key=words.get(one.key or "", one.key)) for one in shares]
    return share_table("Reformats by origin", "Origin", told)


def conversion_table(shares: Sequence[ReformatShare]) -> DataTable | None:
    """Return reformats by the formats before and after."""
    return share_table("Reformats by conversion", "From → to", shares)


def tactic_table(shares: Sequence[TacticShare]) -> DataTable | None:
    """Return tactics, most time first; ``None`` where the plan names none."""
    if not any(share.tactic for share in shares):
        return None
    types = [share.types for share in shares]
    kinds = [some[0] if len(some) == 1 else f"{len(some)} types" for some in types]
    columns = (
        column(
            "Tactic",
            (share.tactic or "none named" for share in shares),
            meaning="names that differ only in the hash at their end are one",
        ),
        *_times(shares),
        column("Of type", kinds),
        column("Types", (", ".join(some) or None for some in types), is_hidden=True),
        column("Names", (one.variants for one in shares), 0, meaning="with hashes"),
    )
    return data_table(
        "tactics", "Tactics, without the hash at their ends", ("tactic", "tactics"), columns
    )


def reformat_table(found: Sequence[ReformatLayer], rows: RowOfLayer) -> DataTable | None:
    """Return the layers that only rewrite a tensor, most time first."""
    order = sorted(found, key=lambda one: -(one.time_ms or 0.0))
    columns = (
        _leading("Layer", [(one.name, one.index) for one in order], rows),
        column("Time ms", (one.time_ms for one in order), 5),
        column("From", (one.source for one in order), is_choice=True),
        column("To", (one.target for one in order), is_choice=True),
        column("Origin", (one.origin for one in order), is_choice=True),
        column("Changes", map(_changes, order), is_choice=True),
    )
    return data_table("reformats", "Reformats, most time first", ("reformat", "reformats"), columns)


def _changes(one: ReformatLayer) -> str | None:
    if one.changes_type is None or one.changes_layout is None:
        return None
    parts = (("type", one.changes_type), ("layout", one.changes_layout))
    return " and ".join(name for name, does in parts if does) or "neither"


def _leading(title: str, named: Sequence[tuple[str, int]], rows: RowOfLayer) -> DataColumn:
    there = tuple(rows.get(index) for _, index in named)
    return column(title, (name for name, _ in named), leads_to=LAYERS, rows_there=there)


def limit_table(view: PlanView, roofs: Iterable[LayerRoof]) -> DataTable | None:
    """Return layers with the least time that the GPU needs; ``None`` without a GPU."""
    order = tuple(roofs)
    if view.roofline is None:
        return None
    layers = [view.plan.layers[one.position] for one in order]
    columns = (
        column("Layer", (layer.name for layer in layers)),
        column("Time ms", (one.time_ms for one in order), 5),
        column("Floor ms", (one.attainable_ms for one in order), 5),
        column("× floor", (one.distance for one in order), 2),
        column("Above floor ms", (one.excess_ms for one in order), 5),
        column("Bound by", (one.bound for one in order)),
        column("By memory ms", (one.memory_ms for one in order), 5),
        column("By compute ms", (one.compute_ms for one in order), 5),
        column(PARTIAL, ("a part" if one.is_partial else None for one in order)),
        column("#", (layer.index for layer in layers), 0, meaning="place in the plan"),
    )
    return data_table(
        "limits", f"Furthest from the limits of {view.roofline.gpu.name}", LAYER, columns
    )


def limit_sentence(found: Roofline, engine_ms: float | None, count: int) -> str:
    """Return what the layers that lose most would save at their limits, and what is not known."""
    losing = len(found.worst(count))
    if not losing:
        return f"No layer with a known limit on {found.gpu.name} is slower than it."
    which = f"The {losing} layers that lose most" if losing > 1 else "The layer that loses most"
    saved = format_ms(found.saving_ms(count), 3)
    if engine_ms:
        saved += f", {format_significant(100 * found.saving_ms(count) / engine_ms, 2)} % of all"
    said = f"{which} would save at most {saved}, at the limits of {found.gpu.name}"
    said += f", {profiler_part(found.profiler_ms)}." if found.profiler_ms is not None else "."
    unknown = f" The limit of {counted(found.unknown, 'timed layer')} is not known."
    return said + unknown if found.unknown else said


def node_table(view: PlanView, rows: RowOfLayer) -> DataTable | None:
    """Return the nodes of the model, most time first; ``None`` without a model."""
    found, graph = view.onnx_map, view.onnx
    if found is None or graph is None:
        return None
    order = sorted(found.costs, key=lambda one: -(one.time_ms or 0.0))
    nodes = [graph.nodes[one.node] for one in order]
    first = [view.all_layers[one.positions[0]] for one in order]
    parts = ["a part" if one.is_shared else "a layer" for one in order]
    whole, times = view.total_ms, [one.time_ms for one in order]
    shares = [100 * ms / whole if ms is not None and whole else None for ms in times]
    columns = (
        column("Node", (node.name for node in nodes)),
        column("Time ms", times, 5),
        column(SHARE, shares, 2, is_share=True),
        column("Of", parts, is_choice=True),
        column("Operator", (node.op_type for node in nodes), is_choice=True),
        column("Layers", (len(one.positions) for one in order), 0),
        _leading("First layer", [(layer.name, layer.index) for layer in first], rows),
    )
    return data_table("onnx", "ONNX nodes that cost most", ("node", "nodes"), columns)


def node_sentence(found: OnnxMap, graph: OnnxGraph) -> str:
    """Return how many nodes were found in the plan, and what a part is."""
    if not found.links:
        return "No layer of the plan holds a node of this model: it may be another engine's."
    matched = len({cost.node for cost in found.costs})
    return (
        f"{matched:,} of {counted(len(graph.nodes), 'node')} are in "
        f"{counted(len(found.links), 'layer')}. A layer that holds several nodes shares its time "
        "out among them by their work: “a part”."
    )
