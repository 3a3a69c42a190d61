"""A plan looked into, on the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.layers.layer_table import TimeShare
from enginescope.analysis.layers.reformats import ReformatShare
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer, ordered
from enginescope.core.record import Record
from enginescope.core.units import format_bytes
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted, format_significant
from enginescope.records.plan.plan import EXECUTED
from enginescope.records.tensor import Tensor
from enginescope.render.base.data_table import inert_text
from enginescope.render.base.facts import tensor_text
from enginescope.render.base.phrases import layer_sum_sentence, shorten_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.plans.plan_headline import layers_text, timed_at_rest

#: Milliseconds are numbers, until the column that they share the decimals of is known.
Cell: TypeAlias = str | float | None

UNKNOWN = "—"
_SIZES = ("weights", "act.", "both")
_SHARES = ("ms", "%", "layers")
#: Headers of columns of numbers; others hold names.
NUMBERS = (*_SHARES, *_SIZES)
_SIZE_SORTS = ("weights", "activations", "footprint")
_SORT_WORDS = {
    "plan": "their order in the plan",
    "weights": "bytes of weights",
    "activations": "bytes of activations",
    "footprint": "bytes of weights and activations",
}
_ORIGINS = {"QDQ": "QDQ: quantization in the model", "REFORMAT": "REFORMAT: inserted by TensorRT"}


class PlanTable(Record, frozen=True, kw_only=True):
    """A table; its last column holds the longest names.

    Attributes:
        left_out: How many rows more there are.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0


def explore_tables(found: Exploration, *, top: int, sort: str, sized: bool) -> Iterator[PlanTable]:
    """Yield the tables in which something is known.

    Args:
        sort: Of the layers: a key of `ORDERS`.
        sized: Whether there is room for bytes beside the layers' times.
    """
    bare = found.plan_schema == "names-only"
    if not bare or found.time is not None:
        yield _layer_table(found, top, sort, sized=sized or sort in _SIZE_SORTS)
    if found.time is not None:
        yield _shares("Time by type", "type", found.by_type, top)
        yield _shares("Time by precision of the first input", "precision", found.by_precision, top)
    elif not bare:
        yield from _count_tables(found, top)
    if _has_sizes(found) and sort not in _SIZE_SORTS:
        headers = (*_SIZES, "type", "layer")
        yield _layers("Weights and activations, the largest", headers, found, top, "footprint")
    if any(tactic.tactic is not None for tactic in found.tactics):
        yield _tactic_table(found, top)
    if found.reformats:
        shown = tuple(_with_words(one) for one in found.reformats_by_origin)
        yield _shares("Reformats by origin", "origin", shown, len(shown))
        conversions = found.reformats_by_conversion
        yield _shares("Reformats by conversion", "from → to", conversions, top)


def _layer_table(found: Exploration, top: int, sort: str, *, sized: bool) -> PlanTable:
    if found.time is None and sort == "time":
        sort = "plan"
    timed = ("ms", "%") if found.time is not None else ()
    headers = (*timed, "type", "precision", *(_SIZES if sized else ()), "layer")
    title = "Slowest layers" if sort == "time" else f"Layers by {_SORT_WORDS.get(sort, sort)}"
    return _layers(title, headers, found, top, sort)


def _has_sizes(found: Exploration) -> bool:
    return any(layer.sizes and layer.sizes.footprint_bytes is not None for layer in found.layers)


def _layers(
    title: str, headers: tuple[str, ...], found: Exploration, top: int, sort: str
) -> PlanTable:
    shown = tuple(layer for layer in found.layers if layer.row.time_ms or not layer.row.is_inert)
    rows = tuple(_layer_cells(one, headers, found) for one in ordered(shown, sort)[:top])
    return PlanTable(title=title, headers=headers, rows=rows, left_out=len(shown) - len(rows))


def _layer_cells(
    one: ExploredLayer, headers: Sequence[str], found: Exploration
) -> tuple[Cell, ...]:
    row, sizes = one.row, one.sizes
    is_stray = found.plan_schema is not None and not row.in_plan
    cells: dict[str, Cell] = {
        "ms": row.time_ms,
        "%": _percent(row.share_pct),
        "type": row.type or UNKNOWN,
        "precision": _precisions(one),
        "weights": _bytes(sizes.weights_bytes if sizes else None),
        "act.": _bytes(sizes.activation_bytes if sizes else None),
        "both": _bytes(sizes.footprint_bytes if sizes else None),
        "layer": f"(not in the plan) {row.name}" if is_stray else row.name,
    }
    return tuple(cells[header] for header in headers)


def _precisions(one: ExploredLayer) -> str:
    outputs = one.row.outputs
    written = outputs[0].dtype if outputs else None
    before, after = one.row.precision, written and written.value
    if before == after or after is None:
        return before or UNKNOWN
    return f"{before or '?'} → {after}"


def _shares(
    title: str, name: str, shares: Sequence[TimeShare | ReformatShare], top: int
) -> PlanTable:
    rows = tuple(
        (share.time_ms, _percent(share.share_pct), f"{share.layers:,}", share.key or "not known")
        for share in shares[:top]
    )
    headers = (*_SHARES, name)
    return PlanTable(title=title, headers=headers, rows=rows, left_out=len(shares) - len(rows))


def _count_tables(found: Exploration, top: int) -> Iterator[PlanTable]:
    if found.totals is None:
        return
    for title, name, counts in (
        ("Layers by type", "type", found.totals.layers_by_type),
        ("Layers by precision of the first input", "precision", found.totals.layers_by_precision),
    ):
        rows = tuple((f"{count:,}", key) for key, count in list(counts.items())[:top])
        left_out = len(counts) - len(rows)
        yield PlanTable(title=title, headers=("layers", name), rows=rows, left_out=left_out)


def _tactic_table(found: Exploration, top: int) -> PlanTable:
    rows = tuple(
        (
            tactic.time_ms,
            _percent(tactic.share_pct),
            f"{tactic.layers:,}",
            tactic.types[0] if len(tactic.types) == 1 else f"{len(tactic.types)} types",
            tactic.tactic or "none named",
        )
        for tactic in found.tactics[:top]
    )
    return PlanTable(
        title="Tactics",
        headers=(*_SHARES, "of type", "tactic, without hash"),
        rows=rows,
        left_out=len(found.tactics) - len(rows),
    )


def _with_words(one: ReformatShare) -> ReformatShare:
    words = _ORIGINS.get(one.key, one.key) if one.key is not None else "not in the plan"
    return ReformatShare(key=words, layers=one.layers, time_ms=one.time_ms, share_pct=one.share_pct)


def _percent(value: float | None) -> str:
    """Return a share with one decimal; a smaller one with its first two digits."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}" if value >= 0.05 or not value else format_significant(value, 2)


def _bytes(value: int | None) -> str:
    return UNKNOWN if value is None else "0" if value == 0 else format_bytes(value)


_SCHEMAS = {
    "trt8-10": "plan format of TensorRT 8.2 to 10",
    "trt11": "plan format of TensorRT 11",
    "names-only": "layer names only",
    EXECUTED: "graph that ONNX Runtime executed",
}
#: What a column of names keeps on a narrow terminal, and the columns between two cells.
_LEAST_NAME = 12
_GAP = 2
_FEW_TENSORS = 4
#: From here on there is room for sizes beside the names of the slowest layers.
_WIDE = 110
_DIGITS = 4


def explore_text(
    found: Exploration,
    *,
    first: str | None = None,
    device: str | None = None,
    notices: Sequence[Notice] = (),
    top: int = 5,
    sort: str = "time",
    width: int = 80,
) -> RenderableType:
    """Return a plan's summary and its tables, for a rich console.

    Args:
        first: The change that may save most.
        device: The GPU it was built or timed on, and what built it.
        notices: Of reading the files; `found` has its own.
        sort: Of the layers: a key of `ORDERS`.
    """
    lines: list[RenderableType] = [_title(found, device, width)]
    lines += [Text(first, style="bold")] if first else []
    lines.append(Text())
    lines += [label_row(name, text) for name, text in summary_rows(found)]
    lines.append(Text())
    for one in explore_tables(found, top=top, sort=sort, sized=width >= _WIDE):
        lines += _table(one, width) if one.rows else []
    told = [one for one in (*notices, *found.notices) if one.code != _SAID_ABOVE]
    return Group(*lines, *notice_lines(told))


def _title(found: Exploration, device: str | None, width: int) -> Text:
    title = Text(inert_text(found.name), style="bold")
    gap = width - title.cell_len - Text(device).cell_len if device else 0
    if device:
        title.append(" " * gap if gap >= _GAP else "\n").append(device, style="dim")
    return title


def summary_rows(found: Exploration) -> list[tuple[str, str]]:
    """Return what is said above the tables: labels and texts."""
    rows = [("plan", _plan_text(found))] if found.plan_schema else []
    if found.plan_profiles:
        others = ", ".join(str(profile) for profile in found.plan_profiles)
        rows.append(("profile", f"optimization profile {found.plan_profile} of {others}"))
    rows.append(("time", _time_text(found)))
    if found.plan_schema == "names-only":
        rows.append(("next", _HOW_DETAILED))
        return rows
    if found.totals is not None and not found.totals.layers:
        rows.append(("next", _NO_LAYERS))
        return rows
    if found.totals is not None:
        rows.append(("memory", _memory_text(found)))
    rows += _tensor_rows("inputs", found.inputs) + _tensor_rows("outputs", found.outputs)
    return rows


_SAID_ABOVE = "I-NAMES-ONLY"
_NO_LAYERS = (
    "the file lists no layers, or ends before the first; write it again with trtexec "
    "--exportLayerInfo"
)
_HOW_DETAILED = (
    "the engine was built without detailed profiling verbosity, so it has only the names of its "
    "layers; build again with trtexec --profilingVerbosity=detailed, with "
    "config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED in Python, or with enginescope "
    "build"
)


def _plan_text(found: Exploration) -> str:
    totals = found.totals
    assert totals is not None
    count = layers_text(totals, timed_at_rest(layer.row for layer in found.layers))
    return f"{count}; {_SCHEMAS.get(found.plan_schema or '', found.plan_schema)}"


def _time_text(found: Exploration) -> str:
    if found.time is None:
        return (
            "unknown without layer times: pass those of trtexec --exportProfile with --profile FILE"
        )
    return layer_sum_sentence(found.time)


def _memory_text(found: Exploration) -> str:
    totals = found.totals
    assert totals is not None
    moved = f"activations {format_bytes(totals.activation_bytes)}"
    if totals.activation_bytes is not None:
        moved += " read and written"
    if totals.padded_activation_bytes != totals.activation_bytes:
        moved += f" ({format_bytes(totals.padded_activation_bytes)} with padding)"
    biases = f", biases {format_bytes(totals.bias_bytes)}" if totals.bias_bytes else ""
    unknown = (
        f"; {counted(totals.unknown_tensors, 'use')} of tensors of unknown size not counted"
        if totals.unknown_tensors
        else ""
    )
    parts = totals.whole_parts
    inside = (
        f"; without the contents of {counted(parts, 'layer')} that"
        f" {'stands' if parts == 1 else 'stand'} for a part of the network"
        if parts
        else ""
    )
    return f"weights {format_bytes(totals.weights_bytes)}{biases}, {moved}{unknown}{inside}"


def _tensor_rows(label: str, tensors: tuple[Tensor, ...]) -> list[tuple[str, str]]:
    shown = tensors[:_FEW_TENSORS]
    rows = [(label if not at else "", inert_text(tensor_text(one))) for at, one in enumerate(shown)]
    more = len(tensors) - len(shown)
    return [*rows, ("", f"and {more:,} more")] if more else rows


def _table(found: PlanTable, width: int) -> list[RenderableType]:
    """Return a table under its title; the last column's names take the columns that are left.

    Columns of times and shares in which nothing is known are not shown.
    """
    columns = {
        name: _column([row[at] for row in found.rows]) for at, name in enumerate(found.headers)
    }
    shown = [name for name in columns if name not in ("ms", "%") or set(columns[name]) - {UNKNOWN}]
    taken = sum(max(len(one) for one in (name, *columns[name])) + _GAP for name in shown[:-1])
    spare = max(_LEAST_NAME, width - taken - 1)
    columns[shown[-1]] = shorten_apart(columns[shown[-1]], spare)
    cells = list(zip(*(columns[name] for name in shown), strict=True))
    right = [name for name in shown if name in NUMBERS]
    lines = [Text(found.title, style="bold"), table(shown, cells, right=right)]
    if found.left_out:
        lines.append(Text(f"and {found.left_out:,} more", style="dim"))
    return [*lines, Text()]


def _column(cells: Sequence[Cell]) -> list[str]:
    """Return cells as text; numbers with the same decimals, so that they compare at a glance."""
    most = max((cell for cell in cells if isinstance(cell, float)), default=0.0)
    places = _DIGITS - 1 - math.floor(math.log10(most)) if most > 0 else 0
    places = min(9, max(0, places))
    return [
        f"{cell:,.{places}f}"
        if isinstance(cell, float)
        else UNKNOWN
        if cell is None
        else inert_text(cell)
        for cell in cells
    ]
