"""Where the time goes."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.layer_table import LayerRow, slowest_first
from enginescope.analysis.run_view import RunView
from enginescope.core.units import format_bytes
from enginescope.render.charts.layers import layer_bars, time_by_precision, time_by_type
from enginescope.render.facts import Facts, tensor_text
from enginescope.render.figures import UNKNOWN
from enginescope.render.phrases import layer_sum_sentence, pass_sentence, path_sentence
from enginescope.render.sections.section import Section

#: Rows written into the page itself, for readers without JavaScript; the others are in its data.
STATIC_ROWS = 100

#: Field, heading, decimals of a number (``None``: text).
_COLUMNS: tuple[tuple[str, str, int | None], ...] = (
    ("index", "#", 0),
    ("name", "Layer", None),
    ("mean_ms", "Mean ms", 5),
    ("share_pct", "Share %", 2),
    ("type", "Type", None),
    ("precision", "Precision", None),
    ("provider", "Provider", None),
    ("median_ms", "Median ms", 5),
    ("tactic", "Tactic", None),
    ("onnx_nodes", "ONNX nodes", None),
    ("inputs", "Inputs", None),
    ("outputs", "Outputs", None),
)


def where_the_time_goes(view: RunView, topk: int) -> Section:
    """Time by type, precision and layer; the sum against the whole; every layer in a table."""
    charts = (time_by_type(view), time_by_precision(view), layer_bars(view, topk))
    found = view.layer_sum
    of_layers = [layer_sum_sentence(found), pass_sentence(found)] if found else [_NO_PROFILE]
    sentences = [path_sentence(view), *of_layers]
    return Section(
        key="time",
        title="Where the time goes",
        charts=tuple(one for one in charts if one),
        empty=None if view.layers else _NO_PROFILE,
        facts={
            "sentences": [one for one in sentences if one],
            "totals": plan_facts(view),
            **layer_table(view),
        },
    )


_NO_PROFILE = (
    "No layer profile: layers cannot be timed. Measure with layer times, which is the default, "
    "or import the tool's profile together with its times."
)


def layer_table(view: RunView) -> dict[str, Any]:
    """Return the columns that have anything in them, all rows' values, and some as text.

    ``columns``: (title, decimals or ``None`` for text); ``values``: per row, numbers unrounded,
    ``None`` where not known; ``static``: the first rows as text.
    """
    rows = slowest_first(view.layers)
    shown = [
        column for column in _COLUMNS if any(_value(row, column[0]) is not None for row in rows)
    ]
    values = [[_value(row, field) for field, _, _ in shown] for row in rows]
    static = [
        [_text(value, places) for value, (_, _, places) in zip(row, shown, strict=True)]
        for row in values[:STATIC_ROWS]
    ]
    return {
        "columns": [(title, places) for _, title, places in shown],
        "values": values,
        "static": static,
    }


def plan_facts(view: RunView) -> Facts:
    """Return the plan's counts and bytes for people; empty without a plan."""
    totals = view.plan_totals
    if totals is None:
        return ()
    unsized = ("Tensors of unknown size, left out", f"{totals.unknown_tensors:,}")
    return (
        ("Layers", f"{totals.layers:,}, of which {totals.active_layers:,} do work"),
        ("Weights", format_bytes(totals.weights_bytes)),
        ("Activations read and written", format_bytes(totals.activation_bytes)),
        ("The same with padding", format_bytes(totals.padded_activation_bytes)),
        *((unsized,) if totals.unknown_tensors else ()),
    )


def _value(row: LayerRow, field: str) -> Any:
    value = getattr(row, field)
    if field == "onnx_nodes":
        return ", ".join(value) or None
    if field in ("inputs", "outputs"):
        return ", ".join(tensor_text(one) for one in value) or None
    return value


def _text(value: Any, places: int | None) -> str:
    if places is None:
        return value or ""
    return UNKNOWN if value is None else f"{value:,.{places}f}"
