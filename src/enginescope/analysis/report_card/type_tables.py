"""Each type of layer: what all of it takes, and its slowest layers with their own fields."""

from __future__ import annotations

from typing import Any

from enginescope.analysis.plans.plan_column_table import LayerFacts
from enginescope.analysis.plans.plan_view import PlanView
from enginescope.analysis.report_card.layer_groups import LayerGroup, group_layers
from enginescope.core.record import Record

_FIELDS = (
    "Kernel Stride Groups Dilation OutMaps Activation Origin PoolingType WindowSize FirstTranspose "
    "Reshape SecondTranspose Mode Start Size Axes Axis Scales NbOperations"
)
#: Fields of the file that tell layers of a type apart, in the order of columns.
TELLING_FIELDS = tuple(_FIELDS.split())


class TypeTable(Record, frozen=True, kw_only=True):
    """One type of layer.

    Attributes:
        group: Its key is the type.
        slowest: The longest mean time first; where there are no times, in the plan's order.
        fields: Those of `TELLING_FIELDS` that any of these layers has.
    """

    group: LayerGroup[str]
    slowest: tuple[LayerFacts, ...]
    fields: tuple[str, ...]


def type_tables(view: PlanView, top: int = 20) -> tuple[TypeTable, ...]:
    """Return the types of the layers that do work, by time, then by number."""
    rows: dict[str, list[LayerFacts]] = {}
    for row in view.facts:
        rows.setdefault(row.layer.type, []).append(row)
    return tuple(
        _table(group, rows[group.key], top)
        for group in group_layers(view.facts, lambda row: row.layer.type)
    )


def _table(group: LayerGroup[str], rows: list[LayerFacts], top: int) -> TypeTable:
    slowest = tuple(sorted(rows, key=lambda row: -(row.mean_ms or 0.0))[:top])
    have = {
        name for row in slowest for name, value in row.layer.attributes.items() if _tells(value)
    }
    return TypeTable(
        group=group,
        slowest=slowest,
        fields=tuple(name for name in TELLING_FIELDS if name in have),
    )


def _tells(value: Any) -> bool:
    return value not in (None, "", [])
