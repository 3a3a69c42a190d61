"""A plan's layers as the columns of a table.

Counts and bytes of a plan as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from enginescope.analysis.layers.reformats import TensorRoles, is_whole_part, tensor_roles
from enginescope.analysis.plans.plan_column_table import COLUMNS, TABLE, LayerFacts
from enginescope.analysis.roofline.layer_work import LayerBytes, LayerWork, is_bias
from enginescope.analysis.roofline.roofline import Roofline
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Attribution, Layer, Plan
from enginescope.records.tensor import Tensor


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
                timing.time_ms if timing else None,
                _precision_name(layer.inputs),
                _precision_name(layer.outputs),
            )
        )
    return found


def _whole_ms(attribution: Attribution) -> float:
    """Sum of every time in the profile, those without a layer included."""
    timed = [layer.timing for layer in attribution.layers if layer.timing]
    every = (*timed, *attribution.unmatched)
    return sum(one.time_ms or 0.0 for one in every if not one.is_container)


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


class PlanTotals(Record, frozen=True, kw_only=True):
    """What a plan adds up to.

    Attributes:
        layers: All of them.
        active_layers: Those that launch work.
        layers_by_type, layers_by_precision: Of the active ones; precision is the type of the first
            input.
        weights_bytes: Kernels and the constants that active layers read, also those that Myelin
            lists among a layer's inputs, each tensor once, at its size in the engine. It equals the
            sum over the layers unless several layers read one constant. ``None`` if no size is
            known.
        bias_bytes: Apart, as trex leaves them out of its weights.
        activation_bytes: Inputs and outputs of the active layers, counted at each use, without
            padding: what moves if nothing is cached. Where a layer reads what a no-op passes on, it
            reads the no-op's input. ``None`` if the size of none is known.
        padded_activation_bytes: The same with the padding of vectorized layouts.
        whole_parts: Active layers that stand for a whole part of the network: what is inside them,
            weights and tensors, is in none of the sums.
        unknown_tensors: Uses of tensors and weights whose size is not known, and is missing from
            the sums.
    """

    layers: int
    active_layers: int
    layers_by_type: dict[str, int]
    layers_by_precision: dict[str, int]
    weights_bytes: int | None
    bias_bytes: int | None
    activation_bytes: int | None
    padded_activation_bytes: int | None
    whole_parts: int
    unknown_tensors: int


def plan_totals(plan: Plan, roles: TensorRoles | None = None) -> PlanTotals:
    """Return the counts and bytes of `plan`.

    A tensor that only layers read, that none writes and that is not an input of the engine is a
    constant; so is what a ``Constant`` layer writes. Constants count as weights, not as
    activations.

    Args:
        roles: Of its tensors, where they are known already.
    """
    roles = roles or tensor_roles(plan)
    active, constants = roles.active, roles.constants
    inputs = [tensor for layer in active for tensor in layer.inputs]
    if roles.sources:
        inputs = list(map(roles.source, inputs))
    used = [tensor for tensor in inputs if tensor.name not in constants]
    used += [tensor for layer in active for tensor in layer.outputs]
    carried = [
        (is_bias(weight.role), weight.nbytes) for layer in active for weight in layer.weights
    ]
    kernels = [nbytes for of_bias, nbytes in carried if not of_bias]
    kernels += [constants[name] for name in {one.name for one in inputs} & constants.keys()]
    biases = [nbytes for of_bias, nbytes in carried if of_bias]
    activations = [tensor.nbytes for tensor in used]
    return PlanTotals(
        layers=len(plan.layers),
        active_layers=len(active),
        layers_by_type=_count(active, attrgetter("type")),
        layers_by_precision=_count(active, _precision),
        weights_bytes=sum_known(kernels),
        bias_bytes=sum_known(biases),
        activation_bytes=sum_known(activations),
        padded_activation_bytes=sum_known(list(map(_padded, used, activations))),
        whole_parts=sum(map(is_whole_part, active)),
        unknown_tensors=sum(sizes.count(None) for sizes in (kernels, biases, activations)),
    )


def _padded(tensor: Tensor, nbytes: int | None) -> int | None:
    """Return bytes with padding: those without, unless the layout is vectorized."""
    layout = tensor.layout
    return nbytes if layout is None or layout.vector_width is None else tensor.padded_nbytes


def _precision(layer: Layer) -> str:
    return layer.precision._name_ if layer.precision else "unknown"


def _count(layers: Iterable[Layer], key: Callable[[Layer], str]) -> dict[str, int]:
    return dict(Counter(map(key, layers)).most_common())


def _precision_name(tensors: Sequence[Tensor]) -> str | None:
    """Return the name of the first tensor's type, or ``None``."""
    return tensors[0].dtype.value if tensors and tensors[0].dtype else None
