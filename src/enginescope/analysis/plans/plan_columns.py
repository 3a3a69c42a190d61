"""A plan's layers as the columns of a table: name, unit, meaning, source and values.

Counts and bytes of a plan as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.analysis.plans.layer_attributes import weights_type
from enginescope.analysis.roofline.layer_work import (
    LayerBytes,
    LayerKinds,
    LayerWork,
    is_bias,
    layer_kinds,
)
from enginescope.analysis.roofline.roofline import LayerRoof, Roofline
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.records.plan.plan import Attribution, Layer, LayerTiming, Plan
from enginescope.records.tensor import Tensor


class LayerFacts(Record, frozen=True):
    """Everything known of one layer.

    Attributes:
        whole_ms: Sum of every time in the profile.
        time_ms: The layer's time per iteration.
        precision, output_precision: Names of the types of the first input and output.
    """

    layer: Layer
    size: LayerBytes
    work: LayerWork
    timing: LayerTiming | None
    roof: LayerRoof | None
    whole_ms: float | None
    time_ms: float | None
    precision: str | None
    output_precision: str | None


class Column(Record, frozen=True, kw_only=True):
    """One column.

    Attributes:
        unit: ``""`` for names and counts.
        trex: The name that trex gives a column of the same meaning; ``""`` if it has none.
    """

    name: str
    meaning: str
    unit: str = ""
    trex: str = ""


def _share_pct(row: LayerFacts) -> float | None:
    time_ms = row.time_ms
    return 100 * time_ms / row.whole_ms if time_ms is not None and row.whole_ms else None


def _tensors(tensors: Sequence[Tensor]) -> str:
    return "; ".join(_tensor(tensor) for tensor in tensors)


def _tensor(tensor: Tensor) -> str:
    shape = (
        "?"
        if tensor.shape is None
        else "×".join("?" if d is None else str(d) for d in tensor.shape)
    )
    layout = tensor.layout.name if tensor.layout else None
    return " ".join(filter(None, (shape, tensor.dtype.value if tensor.dtype else None, layout)))


def _weights_count(row: LayerFacts) -> int | None:
    return next((one.count for one in row.layer.weights if not is_bias(one.role)), None)


def _of_product(field: str) -> Callable[[LayerFacts], int | None]:
    return lambda row: getattr(row.work.product, field) if row.work.product else None


def _of_roof(field: str) -> Callable[[LayerFacts], Any]:
    return lambda row: getattr(row.roof, field) if row.roof else None


# name, trex's name, unit, meaning, where it is from
_Entry = tuple[str, str, str, str, Callable[[LayerFacts], Any]]
TABLE: tuple[_Entry, ...] = (
    ("index", "", "", "position in the file, from 0", lambda r: r.layer.index),
    ("Name", "Name", "", "as the file has it; names may repeat", lambda r: r.layer.name),
    ("type", "type", "", "what it computes", lambda r: r.layer.type),
    ("subtype", "subtype", "", "the implementation", lambda r: r.layer.subtype),
    ("precision", "precision", "", "type of the first input", lambda r: r.precision),
    (
        "output_precision",
        "output_precision",
        "",
        "type of the first output",
        lambda r: r.output_precision,
    ),
    (
        "tactic",
        "tactic",
        "",
        "name of the tactic; trex writes `TensorRT` if there is none",
        lambda r: r.layer.tactic_name,
    ),
    ("TacticValue", "TacticValue", "", "the tactic's number", lambda r: r.layer.tactic_value),
    ("inputs", "", "", "shape, type and layout of each input", lambda r: _tensors(r.layer.inputs)),
    ("outputs", "", "", "the same of each output", lambda r: _tensors(r.layer.outputs)),
    ("stream", "StreamId", "", "stream that it runs on", lambda r: r.layer.stream),
    ("profile_index", "", "", "optimization profile, if several", lambda r: r.layer.profile_index),
    (
        "onnx_nodes",
        "",
        "",
        "ONNX nodes that the plan names, joined by `;`",
        lambda r: ";".join(r.layer.onnx_nodes) or None,
    ),
    (
        "weights_type",
        "",
        "",
        "element type of the kernel it carries",
        lambda r: weights_type(r.layer),
    ),
    ("weights_count", "", "", "elements of that kernel", _weights_count),
    (
        "total_io_size_bytes",
        "total_io_size_bytes",
        "byte",
        "inputs and outputs, without padding; constants among TensorRT 10's inputs are weights",
        lambda r: r.size.activation_bytes,
    ),
    (
        "weights_size",
        "weights_size",
        "byte",
        "kernels and constants, that of ConvActPool included",
        lambda r: r.size.weights_bytes,
    ),
    ("bias_size", "", "byte", "biases it carries", lambda r: r.size.bias_bytes),
    (
        "total_footprint_bytes",
        "total_footprint_bytes",
        "byte",
        "`total_io_size_bytes` + `weights_size`",
        lambda r: r.size.footprint_bytes,
    ),
    (
        "moved_bytes",
        "",
        "byte",
        "`total_footprint_bytes` + `bias_size`; of what Gather or Slice reads, what it writes",
        lambda r: r.work.moved_bytes,
    ),
    (
        "latency.avg_time",
        "latency.avg_time",
        "ms",
        "the layer's time per iteration, without the profiler's part where that is known",
        lambda r: r.time_ms,
    ),
    (
        "latency.raw_time",
        "",
        "ms",
        "as the profiler reported it, where `latency.avg_time` is without its part",
        lambda r: r.timing.raw_ms if r.timing else None,
    ),
    ("latency.pct_time", "latency.pct_time", "%", "of the sum of all layers' times", _share_pct),
    ("attr.macs", "attr.macs", "MAC", "multiply-accumulates", lambda r: r.work.macs),
    ("macs_source", "", "", "`plan`, or `onnx` for those of its nodes", lambda r: r.work.source),
    (
        "macs_shared",
        "",
        "",
        "whether nodes are shared by several layers, and divided among them",
        lambda r: r.work.is_shared if r.work.macs is not None else None,
    ),
    ("gemm.m", "attr.M", "", "rows of the matrix product: batch × positions", _of_product("m")),
    (
        "gemm.n",
        "",
        "",
        "its columns: output channels of one group (deconvolution: × kernel positions)",
        _of_product("n"),
    ),
    (
        "gemm.k",
        "",
        "",
        "terms of its sums: input channels of one group (convolution: × kernel positions)",
        _of_product("k"),
    ),
    (
        "gemm.groups",
        "",
        "",
        "such products: groups of a convolution, batch of a product",
        _of_product("groups"),
    ),
    (
        "attr.arithmetic_intensity",
        "attr.arithmetic_intensity",
        "MAC/byte",
        "`attr.macs` ÷ `moved_bytes`; trex leaves biases and second inputs out of the bytes",
        lambda r: r.work.arithmetic_intensity,
    ),
    (
        "attr.compute_efficiency",
        "attr.compute_efficiency",
        "MAC/ms",
        "`attr.macs` ÷ `latency.avg_time`",
        lambda r: r.work.compute_efficiency(r.time_ms),
    ),
    (
        "attr.memory_efficiency",
        "attr.memory_efficiency",
        "byte/ms",
        "`moved_bytes` ÷ `latency.avg_time`",
        lambda r: r.work.memory_efficiency(r.time_ms),
    ),
    ("roofline.bound", "", "", "`memory` or `compute`", _of_roof("bound")),
    ("roofline.attainable_ms", "", "ms", "least time on this GPU", _of_roof("attainable_ms")),
    ("roofline.distance", "", "×", "own time ÷ least time", _of_roof("distance")),
    ("roofline.excess_ms", "", "ms", "own time − least time, at least 0", _of_roof("excess_ms")),
    (
        "roofline.is_partial",
        "",
        "",
        "whether it may compute more than is known: the least time is then too low",
        _of_roof("is_partial"),
    ),
)

#: The columns that every table has; those of `roofline` only with a GPU whose limits are known.
COLUMNS = tuple(
    Column(name=name, trex=trex, unit=unit, meaning=meaning)
    for name, trex, unit, meaning, _ in TABLE
)


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
_RENAMED = frozenset({"StreamId"})
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


def plan_totals(plan: Plan, kinds: LayerKinds | None = None) -> PlanTotals:
    """Return the counts and bytes of `plan`.

    A tensor that only layers read, that none writes and that is not an input of the engine is a
    constant; so is what a ``Constant`` layer writes. Constants count as weights, not as
    activations.

    Args:
        kinds: Of its layers, where they are known already.
    """
    kinds = kinds or layer_kinds(plan)
    roles, count = kinds.roles, Counter(kinds.of_layer)
    active = [(one, count[at]) for at, one in enumerate(kinds.examples) if not one.is_inert]
    used = [(roles.source(one), many) for layer, many in active for one in layer.inputs]
    used = [(one, many) for one, many in used if one.name not in roles.constants]
    used += [(one, many) for layer, many in active for one in layer.outputs]
    carried = [(one, many) for layer, many in active for one in layer.weights]
    kernels = [(one.nbytes, many) for one, many in carried if not is_bias(one.role)]
    kernels += [(roles.constants[name], 1) for name in kinds.constants_read]
    biases = [(one.nbytes, many) for one, many in carried if is_bias(one.role)]
    activations = [(one.nbytes, many) for one, many in used]
    return PlanTotals(
        layers=len(plan.layers),
        active_layers=len(roles.active),
        layers_by_type=_count(active, attrgetter("type")),
        layers_by_precision=_count(active, _precision),
        weights_bytes=_sum(kernels),
        bias_bytes=_sum(biases),
        activation_bytes=_sum(activations),
        padded_activation_bytes=_sum([(one.padded_nbytes, many) for one, many in used]),
        whole_parts=sum(many for layer, many in active if is_whole_part(layer)),
        unknown_tensors=sum(
            many for size, many in (*kernels, *biases, *activations) if size is None
        ),
    )


def _sum(sizes: Iterable[tuple[int | None, int]]) -> int | None:
    """Return the sum of sizes, each so many times; ``None`` if none is known."""
    return sum_known(None if size is None else size * many for size, many in sizes)


def _precision(layer: Layer) -> str:
    return layer.precision._name_ if layer.precision else "unknown"


def _count(layers: Iterable[tuple[Layer, int]], key: Callable[[Layer], str]) -> dict[str, int]:
    found = Counter[str]()
    for layer, many in layers:
        found[key(layer)] += many
    return dict(found.most_common())


def _precision_name(tensors: Sequence[Tensor]) -> str | None:
    """Return the name of the first tensor's type, or ``None``."""
    dtype = tensors[0].dtype if tensors else None
    return dtype._value_ if dtype else None  # the property `value` calls Python
