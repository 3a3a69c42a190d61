"""Sums over layers: time by type and tactic, shares of precisions, and where precisions change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from enginescope.analysis.layers.layer_table import tactic_shares
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import (
    LayerGroup,
    RollupPart,
    group_layers,
    precision_rollup,
)
from enginescope.core.units import format_bytes
from enginescope.judge.units import counted, format_ms, format_significant
from enginescope.render.base.palette import precision_color, type_color
from enginescope.render.charts.bars import X_TITLE, bar_chart, group_color
from enginescope.render.charts.card.wording import NOT_KNOWN
from enginescope.render.html.images import Chart, Spec

_MOST_TYPES = 20
_MOST_TACTICS = 24
_SUMS = {"layers": "layers#", "ms": "time, ms#", "share": "share of the sum, %#"}


def time_per_type(view: PlanView) -> Chart | None:
    """Time of each type, split by precision; numbers of layers where there are no times."""
    pairs = group_layers(view.facts, lambda row: (row.layer.type, row.precision or NOT_KNOWN))
    if not pairs:
        return None
    timed = any(pair.time_ms for pair in pairs)
    order = {one.key: rank for rank, one in enumerate(_by_type(view))}
    shown = [pair for pair in pairs if order[pair.key[0]] < _MOST_TYPES]
    shown.sort(key=lambda one: (order[one.key[0]], -(one.time_ms or 0.0), -one.layers))
    rows: list[Spec] = [
        {
            **_tips(one, one.key[0]),
            "row": f"{order[one.key[0]]:03}",
            "label": one.key[0],
            "group": one.key[1],
            "value": one.time_ms if timed else one.layers,
        }
        for one in shown
    ]
    color = group_color("precision", _precisions(pairs), precision_color)
    return bar_chart(
        rows,
        X_TITLE if timed else "layers",
        {"type": "type", "group": "precision", **_SUMS},
        color,
        key="latency-per-type",
        title=f"{'Time' if timed else 'Layers'} by type, split by precision",
        subtitle=_left_out(len(order)),
    )


def _by_type(view: PlanView) -> tuple[LayerGroup[str], ...]:
    return group_layers(view.facts, lambda row: row.layer.type)


def _tips(one: LayerGroup[Any], name: str) -> Spec:
    return {"type": name, "layers": one.layers, "ms": one.time_ms, "share": one.share_pct}


def _precisions(pairs: tuple[LayerGroup[tuple[str, str]], ...]) -> list[str]:
    return list(dict.fromkeys(pair.key[1] for pair in pairs))


def _left_out(types: int) -> tuple[str, ...]:
    if types <= _MOST_TYPES:
        return ()
    return (
        f"The {_MOST_TYPES} types with the most time; {types - _MOST_TYPES:,} more are not shown",
    )


def by_tactic(view: PlanView, *, top: int = _MOST_TACTICS) -> Chart | None:
    """Time by tactic, hashes at the end of a name left out."""
    found = [share for share in tactic_shares(view.rows) if share.time_ms]
    if not found or all(one.tactic is None for one in found):
        return None
    rows: list[Spec] = [
        {
            "row": f"{rank:03}",
            "label": one.tactic or NOT_KNOWN,
            "name": one.tactic or NOT_KNOWN,
            "group": one.types[0] if len(one.types) == 1 else "several types",
            "value": one.time_ms,
            "layers": one.layers,
            "ms": one.time_ms,
            "share": one.share_pct,
        }
        for rank, one in enumerate(found[:top])
    ]
    color = group_color("type", [row["group"] for row in rows], type_color)
    return bar_chart(
        rows,
        X_TITLE,
        {"name": "tactic", "group": "type", **_SUMS},
        color,
        key="latency-per-tactic",
        title=f"Time by tactic: {counted(len(found), 'tactic')}, colored by type of layer",
        subtitle=(f"The {len(rows)} with the most time",) if len(rows) < len(found) else (),
        is_wide=True,
    )


_TEXTS: dict[str, Callable[[float], str]] = {
    "layers": lambda value: counted(round(value), "layer"),
    "time": format_ms,
    "MACs": lambda value: f"{format_significant(value / 1e9, 4)} billion MACs",
    "activations": lambda value: format_bytes(round(value)),
    "weights": lambda value: format_bytes(round(value)),
}


def rollup(view: PlanView) -> Chart | None:
    """What part of layers, time, work and bytes each precision has."""
    parts = precision_rollup(view.facts)
    if not any(part.precision != NOT_KNOWN for part in parts):
        return None
    measures = list(dict.fromkeys(part.measure for part in parts))
    rows: list[Spec] = [
        {
            "row": f"{measures.index(part.measure)}",
            "label": part.measure,
            "group": part.precision,
            "value": part.share_pct,
            "amount": _TEXTS[part.measure](part.value),
        }
        for part in parts
    ]
    tips = {"label": "of", "group": "precision", "value": "share, %#", "amount": "amount"}
    color = group_color("precision", [part.precision for part in parts], precision_color)
    return bar_chart(
        rows,
        "share, %",
        tips,
        color,
        key="precision-rollup",
        title=f"Precisions: {_most(parts, measures)}",
        subtitle=("Of the layers' first inputs; each bar is all of what is known",),
        is_whole=True,
    )


def _most(parts: tuple[RollupPart, ...], measures: list[str]) -> str:
    measure = "time" if "time" in measures else "layers"
    first = next(part for part in parts if part.measure == measure)
    share = format_significant(first.share_pct)
    return f"{first.precision} has {share} % of the {measure}"


def precision_changes(view: PlanView) -> Chart | None:
    """Layers by what they read and what they write."""
    pairs = group_layers(
        view.facts, lambda row: (row.precision or NOT_KNOWN, row.output_precision or NOT_KNOWN)
    )
    if not any(NOT_KNOWN not in pair.key for pair in pairs):
        return None
    timed = any(pair.time_ms for pair in pairs)
    rows: list[Spec] = [
        {
            **_tips(pair, " → ".join(pair.key)),
            "row": f"{rank:03}",
            "label": " → ".join(pair.key),
            "group": pair.key[1],
            "value": pair.time_ms if timed else pair.layers,
        }
        for rank, pair in enumerate(pairs)
    ]
    changed = sum(pair.layers for pair in pairs if pair.key[0] != pair.key[1])
    color = group_color("writes", [pair.key[1] for pair in pairs], precision_color)
    return bar_chart(
        rows,
        X_TITLE if timed else "layers",
        {"type": "reads → writes", **_SUMS},
        color,
        key="precision-changes",
        title=_changed_text(changed, len(view.facts)),
        subtitle=("Type of the first input → type of the first output",),
    )


def _changed_text(changed: int, layers: int) -> str:
    verb = "writes another type than it reads"
    if changed != 1:
        verb = "write another type than they read"
    return f"{changed:,} of {counted(layers, 'layer')} {verb}"
