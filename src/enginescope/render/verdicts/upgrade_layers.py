"""Phrase the layers of both stacks of an upgrade: how many differ, and what their times add up to.

Layer times are of one process a side, so that they explain a difference and decide nothing.
"""

from __future__ import annotations

from enginescope.analysis.plan_comparison.difference_causes import Cause
from enginescope.judge.units import counted, format_ms
from enginescope.records.verdict.upgrade import (
    DifferenceCause,
    LayerChange,
    LayerDifferences,
    UpgradedModel,
    UpgradeKind,
)
from enginescope.render.base.data_table import UNKNOWN, number_column, printable
from enginescope.render.base.figures import Figures
from enginescope.render.plan_comparison.compare_phrases import cause_words

_HEADERS = ("Layer", "Type", "Differs in", "Old ms", "New ms", "New − old, ms")


def layers_text(layers: LayerDifferences) -> str:
    """Return how many layers differ, and what their times add up to on each stack."""
    differ = f"{layers.differing:,}" if layers.differing else "none"
    text = (
        f"{counted(layers.paired, 'pair')} among {layers.old:,} and {layers.new:,} layers, "
        f"{differ} built differently"
    )
    for count, where in ((layers.only_old, "old"), (layers.only_new, "new")):
        text += f", {counted(count, 'layer')} only {where}" if count else ""
    if layers.old_ms is None or layers.new_ms is None:
        return f"{text}; no layer times"
    return (
        f"{text}; layer times {format_ms(layers.old_ms)} → {format_ms(layers.new_ms)}, of one "
        "process a side"
    )


def most_text(model: UpgradedModel) -> str | None:
    """Return the largest part of the difference; ``None`` where there is none to explain.

    That is: no layer is built differently, and the headline is neither worse nor better.
    """
    layers, sign = model.layers, _sign(model)
    if layers is None:
        return None
    if sign and layers.old_ms is not None and layers.new_ms is not None:
        if sign * (layers.new_ms - layers.old_ms) <= 0:
            return "these times do not show the difference in latency"
        causes = tuple(one for one in layers.causes if sign * (one.difference_ms or 0.0) > 0)
    else:
        causes = tuple(one for one in layers.causes if one.cause != Cause.NOTHING.value)
    if not causes:
        return None
    most = causes[0]
    if most.difference_ms is None:
        return f"most: {_words(most)}, {counted(most.layers, 'pair')}"
    (difference,) = number_column([most.difference_ms], signed=True)
    return f"most of it: {_words(most)}, {difference} ms"


def _sign(model: UpgradedModel) -> int:
    """Return 1 where the headline is worse, -1 where it is better, else 0."""
    _, *figures = model.rows
    kind = figures[0].kind if figures else None
    return (kind is UpgradeKind.WORSE) - (kind is UpgradeKind.BETTER)


def _words(one: DifferenceCause) -> str:
    return printable(cause_words(Cause(one.cause), one.kind, one.detail, ("old", "new")))


def layer_figures(model: UpgradedModel) -> Figures | None:
    """Return the layers that differ most; ``None`` where none differs and none is timed."""
    layers = model.layers
    shown = [layer for layer in layers.layers if _is_worth(layer)] if layers else []
    if not shown:
        return None
    columns = [
        [printable(layer.name) for layer in shown],
        [printable(layer.type) for layer in shown],
        [printable(", ".join(layer.changes)) or "nothing" for layer in shown],
        number_column([layer.old_ms for layer in shown]),
        number_column([layer.new_ms for layer in shown]),
        number_column([layer.difference_ms for layer in shown], signed=True),
    ]
    known = [at for at, cells in enumerate(columns) if set(cells) != {UNKNOWN}]
    return Figures(
        caption="Layers: those built differently first, then by time; times of one process a side",
        headers=tuple(_HEADERS[at] for at in known),
        rows=tuple(zip(*(columns[at] for at in known), strict=True)),
        numbers=tuple(range(3, len(known))),
    )


def _is_worth(layer: LayerChange) -> bool:
    return bool(layer.changes) or layer.difference_ms is not None
