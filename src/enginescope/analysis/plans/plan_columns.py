"""A plan's layers as the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from enginescope.analysis.plans.plan_column_table import COLUMNS, TABLE, LayerFacts, precision_name
from enginescope.analysis.roofline.layer_bytes import LayerBytes
from enginescope.analysis.roofline.layer_work import LayerWork
from enginescope.analysis.roofline.roofline import Roofline
from enginescope.core.record import Record
from enginescope.records.plan.plan import Plan
from enginescope.records.plan.timing import Attribution


class PlanFacts(Record, frozen=True, kw_only=True):
    """A plan and what was found of it; `sizes`, `works` and times go with its layers, in order."""

    plan: Plan
    sizes: tuple[LayerBytes, ...]
    works: tuple[LayerWork, ...]
    attribution: Attribution | None = None
    roofline: Roofline | None = None


_NAMES = frozenset(one.name for one in COLUMNS)
_ROOFLINE = "roofline."
#: Fields of the file that stand in columns of another name.
_RENAMED = frozenset({"Metadata", "StreamId"})
_MAX_INT = 2**63


def plan_columns(facts: PlanFacts, positions: Sequence[int]) -> dict[str, list[Any]]:
    """Return some of a plan's layers as columns of equal length; ``None`` is a missing value.

    First `COLUMNS`, then every other field that the file has for one of these layers, under its
    own name: numbers, texts, and lists of either as they are, anything else as JSON text.

    Args:
        positions: Of the layers, in the order of the rows.
    """
    rows = layer_facts(facts, positions)
    columns = {
        name: [value(row) for row in rows]
        for name, _, _, _, value in TABLE
        if facts.roofline is not None or not name.startswith(_ROOFLINE)
    }
    return columns | _own_fields(rows)


def layer_facts(facts: PlanFacts, positions: Sequence[int]) -> list[LayerFacts]:
    """Return everything known of some of a plan's layers, in the order of `positions`."""
    layers = facts.plan.layers
    roofs = {one.position: one for one in facts.roofline.layers} if facts.roofline else {}
    times = facts.attribution.layers if facts.attribution else None
    whole_ms = _whole_ms(facts.attribution) if facts.attribution else None
    found = []
    for at in positions:
        layer, timing = layers[at], times[at].timing if times else None
        found.append(
            LayerFacts(
                layer,
                facts.sizes[at],
                facts.works[at],
                timing,
                roofs.get(at),
                whole_ms,
                timing.mean_ms if timing else None,
                precision_name(layer.inputs),
                precision_name(layer.outputs),
            )
        )
    return found


def _whole_ms(attribution: Attribution) -> float:
    """Sum of every time in the profile, those without a layer included."""
    timed = [layer.timing for layer in attribution.layers if layer.timing]
    every = (*timed, *attribution.unmatched)
    return sum(one.mean_ms or 0.0 for one in every if not one.is_container)


def _own_fields(rows: Sequence[LayerFacts]) -> dict[str, list[Any]]:
    sparse: dict[str, dict[int, Any]] = {}
    for number, row in enumerate(rows):
        for key, value in row.layer.attributes.items():
            if key not in _RENAMED:
                sparse.setdefault(key, {})[number] = value
    return {
        f"raw.{key}" if key in _NAMES else key: _filled(values, len(rows))
        for key, values in sparse.items()
    }


def _filled(values: Mapping[int, Any], length: int) -> list[Any]:
    column: list[Any] = [None] * length
    for number, value in zip(values, _of_one_kind(list(values.values())), strict=True):
        column[number] = value
    return column


def _of_one_kind(values: list[Any]) -> list[Any]:
    """`values` as they are if a typed column can hold them, else each as JSON text."""
    scalars = _scalars(values)
    if scalars is not None:
        return scalars
    present = [value for value in values if value is not None]
    if all(isinstance(one, list) for one in present):
        flat = _scalars([item for one in present for item in one])
        if flat is not None and None not in flat:
            items = iter(flat)
            return [
                None if value is None else [next(items) for _ in range(len(value))]
                for value in values
            ]
    return [None if value is None else msgspec.json.encode(value).decode() for value in values]


def _scalars(values: list[Any]) -> list[Any] | None:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if kinds == {int} and any(value is not None and abs(value) >= _MAX_INT for value in values):
        return None
    return values if len(kinds) <= 1 and kinds <= {int, float, str, bool} else None
