"""A plan looked into, on the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.plans.exploration import Exploration
from enginescope.core.units import format_bytes
from enginescope.records.notice import Notice
from enginescope.records.tensor import Tensor
from enginescope.render.base.facts import tensor_text
from enginescope.render.base.phrases import layer_sum_sentence, shorten_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.plans.explore_tables import (
    NUMBERS,
    UNKNOWN,
    Cell,
    PlanTable,
    explore_tables,
)
from enginescope.render.plans.plan_headline import layers_text, timed_at_rest

_SCHEMAS = {
    "trt8-10": "plan format of TensorRT 8.2 to 10",
    "trt11": "plan format of TensorRT 11",
    "names-only": "layer names only",
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
    device: str | None = None,
    notices: Sequence[Notice] = (),
    top: int = 5,
    sort: str = "time",
    width: int = 80,
) -> RenderableType:
    """Return a plan's summary and its tables, for a rich console.

    Args:
        device: The GPU it was built or timed on, and what built it.
        notices: Of reading the files; `found` has its own.
        top: Most rows of a table.
        sort: Of the layers: a key of `ORDERS`.
        width: Columns.
    """
    lines: list[RenderableType] = [_title(found, device, width), Text()]
    lines += [label_row(name, text) for name, text in summary_rows(found)]
    lines.append(Text())
    for one in explore_tables(found, top=top, sort=sort, sized=width >= _WIDE):
        lines += _table(one, width) if one.rows else []
    told = [one for one in (*notices, *found.notices) if one.code != _SAID_ABOVE]
    return Group(*lines, *notice_lines(told))


def _title(found: Exploration, device: str | None, width: int) -> Text:
    title = Text(_plain(found.name), style="bold")
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
    "the engine was built without detailed profiling verbosity, so it says nothing of its layers "
    "but their names; build again with trtexec --profilingVerbosity=detailed, with "
    "config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED in Python, or with enginescope "
    "build, which does so"
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
        f"; {_counted(totals.unknown_tensors, 'use')} of tensors of unknown size not counted"
        if totals.unknown_tensors
        else ""
    )
    parts = totals.whole_parts
    inside = (
        f"; without the contents of {_counted(parts, 'layer')} that"
        f" {'stands' if parts == 1 else 'stand'} for a part of the network"
        if parts
        else ""
    )
    return f"weights {format_bytes(totals.weights_bytes)}{biases}, {moved}{unknown}{inside}"


def _tensor_rows(label: str, tensors: tuple[Tensor, ...]) -> list[tuple[str, str]]:
    shown = tensors[:_FEW_TENSORS]
    rows = [(label if not at else "", _plain(tensor_text(one))) for at, one in enumerate(shown)]
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
        else _plain(cell)
        for cell in cells
    ]


def _plain(text: str) -> str:
    """Return a name of the file's without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
