"""A plan's layers as the columns of a table: name, unit, meaning, source and values.

Counts and bytes of a plan as a whole.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from enginescope.analysis.layers.reformats import is_whole_part
from enginescope.analysis.plans.layer_attributes import type_name, weights_type
from enginescope.analysis.roofline import layer_work
from enginescope.analysis.roofline.roofline import LayerRoof, Roofline
from enginescope.core.record import Record
from enginescope.core.units import sum_known
from enginescope.judge.units import shape_text
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
    size: layer_work.LayerBytes
    work: layer_work.LayerWork
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


def _tensors(tensors: Sequence[Tensor]) -> str:
    return "; ".join(_tensor(tensor) for tensor in tensors)


def _tensor(tensor: Tensor) -> str:
    shape = shape_text((None,) if tensor.shape is None else tensor.shape)
    layout = tensor.layout.name if tensor.layout else None
    return " ".join(filter(None, (shape, tensor.dtype.value if tensor.dtype else None, layout)))


#: A column a line, continued where indented: name | trex's name, ``=`` for the same | unit | place
#: of its value in `LayerFacts`, else it is in `_COMPUTED` | meaning.
_TABLE = """
index | | | layer.index | position in the file, from 0
Name | = | | layer.name | as the file has it; names may repeat
type | = | | layer.type | what it computes
subtype | = | | layer.subtype | the implementation
precision | = | | precision | type of the first input
output_precision | = | | output_precision | type of the first output
tactic | = | | layer.tactic_name | name of the tactic; trex writes `TensorRT` if there is none
TacticValue | = | | layer.tactic_value | the tactic's number
inputs | | | | shape, type and layout of each input
outputs | | | | the same of each output
stream | StreamId | | layer.stream | stream that it runs on
profile_index | | | layer.profile_index | optimization profile, if several
onnx_nodes | | | | ONNX nodes that the plan names, joined by `;`
weights_type | | | | element type of the kernel it carries
weights_count | | | | elements of that kernel
total_io_size_bytes | = | byte | size.activation_bytes |
    inputs and outputs, without padding; constants among TensorRT 10's inputs are weights
weights_size | = | byte | size.weights_bytes | kernels and constants, that of ConvActPool included
bias_size | | byte | size.bias_bytes | biases it carries
total_footprint_bytes | = | byte | size.footprint_bytes | `total_io_size_bytes` + `weights_size`
moved_bytes | | byte | work.moved_bytes |
    `total_footprint_bytes` + `bias_size`; of what Gather or Slice reads, what it writes
latency.avg_time | = | ms | time_ms |
    the layer's time per iteration, without the profiler's part where that is known
latency.raw_time | | ms | timing.raw_ms |
    as the profiler reported it, where `latency.avg_time` is without its part
latency.pct_time | = | % | | of the sum of all layers' times
attr.macs | = | MAC | work.macs | multiply-accumulates
macs_source | | | work.source | `plan`, or `onnx` for those of its nodes
macs_shared | | | | whether nodes are shared by several layers, and divided among them
gemm.m | attr.M | | work.product.m | rows of the matrix product: batch × positions
gemm.n | | | work.product.n |
    its columns: output channels of one group (deconvolution: × kernel positions)
gemm.k | | | work.product.k |
    terms of its sums: input channels of one group (convolution: × kernel positions)
gemm.groups | | | work.product.groups | such products: groups of a convolution, batch of a product
attr.arithmetic_intensity | = | MAC/byte | work.arithmetic_intensity |
    `attr.macs` ÷ `moved_bytes`; trex leaves biases and second inputs out of the bytes
attr.compute_efficiency | = | MAC/ms | | `attr.macs` ÷ `latency.avg_time`
attr.memory_efficiency | = | byte/ms | | `moved_bytes` ÷ `latency.avg_time`
roofline.bound | | | roof.bound | `memory` or `compute`
roofline.attainable_ms | | ms | roof.attainable_ms | least time on this GPU
roofline.distance | | × | roof.distance | own time ÷ least time
roofline.excess_ms | | ms | roof.excess_ms | own time − least time, at least 0
roofline.is_partial | | | roof.is_partial |
    whether it may compute more than is known: the least time is then too low
"""
_COMPUTED: dict[str, Callable[[LayerFacts], Any]] = {
    "inputs": lambda row: _tensors(row.layer.inputs),
    "outputs": lambda row: _tensors(row.layer.outputs),
    "onnx_nodes": lambda row: ";".join(row.layer.onnx_nodes) or None,
    "weights_type": lambda row: weights_type(row.layer),
    "weights_count": lambda row: next(
        (one.count for one in row.layer.weights if not layer_work.is_bias(one.role)), None
    ),
    "latency.pct_time": lambda row: (
        100 * row.time_ms / row.whole_ms if row.time_ms is not None and row.whole_ms else None
    ),
    "macs_shared": lambda row: row.work.is_shared if row.work.macs is not None else None,
    "attr.compute_efficiency": lambda row: row.work.compute_efficiency(row.time_ms),
    "attr.memory_efficiency": lambda row: row.work.memory_efficiency(row.time_ms),
}
_ROWS = [re.split(r" ?\| ?", line) for line in _TABLE.replace("\n    ", " ").strip().split("\n")]


def _reader(path: str) -> Callable[[LayerFacts], Any]:
    """Return what reads an attribute; ``None`` where a layer does not have the part that has it."""
    part, _, name = path.rpartition(".")
    if not part:
        return attrgetter(path)
    holder = attrgetter(part)
    return lambda row: None if (owner := holder(row)) is None else getattr(owner, name)


#: The columns that every table has; those of `roofline` only with a GPU whose limits are known.
COLUMNS = tuple(
    Column(name=name, trex=name if trex == "=" else trex, unit=unit, meaning=meaning)
    for name, trex, unit, _, meaning in _ROWS
)
#: Column -> its value in a layer's facts.
VALUES = {name: _COMPUTED.get(name) or _reader(path) for name, _, _, path, _ in _ROWS}


class PlanFacts(Record, frozen=True, kw_only=True):
    """A plan and what was found of it; `sizes`, `works` and times go with its layers, in order."""

    plan: Plan
    sizes: tuple[layer_work.LayerBytes, ...]
    works: tuple[layer_work.LayerWork, ...]
    attribution: Attribution | None = None
    roofline: Roofline | None = None


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
        for name, value in VALUES.items()
        if facts.roofline is not None or not name.startswith("roofline.")
    }
    return columns | _own_fields(rows)


def layer_facts(facts: PlanFacts, positions: Sequence[int]) -> list[LayerFacts]:
    """Return everything known of some of a plan's layers, in the order of `positions`."""
    layers = facts.plan.layers
    roofs = {one.position: one for one in facts.roofline.layers} if facts.roofline else {}
    times = facts.attribution.layers if facts.attribution else None
    whole_ms = None
    if facts.attribution:  # with times without a layer
        timed = [layer.timing for layer in facts.attribution.layers if layer.timing]
        every = (*timed, *facts.attribution.unmatched)
        whole_ms = sum(timing.time_ms or 0.0 for timing in every if not timing.is_container)
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
                type_name(layer.inputs),
                type_name(layer.outputs),
            )
        )
    return found


def _own_fields(rows: Sequence[LayerFacts]) -> dict[str, list[Any]]:
    sparse: dict[str, dict[int, Any]] = {}
    for number, row in enumerate(rows):
        for key, value in row.layer.attributes.items():
            if key != "StreamId":  # the column "stream"
                sparse.setdefault(key, {})[number] = value
    found = {}
    for key, values in sparse.items():
        known = dict(zip(values, _of_one_kind(list(values.values())), strict=True))
        found[f"raw.{key}" if key in VALUES else key] = [*map(known.get, range(len(rows)))]
    return found


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
    if kinds == {int} and any(value is not None and abs(value) >= 2**63 for value in values):
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


def plan_totals(plan: Plan, kinds: layer_work.LayerKinds | None = None) -> PlanTotals:
    """Return the counts and bytes of `plan`.

    A tensor that only layers read, that none writes and that is not an input of the engine is a
    constant; so is what a ``Constant`` layer writes. Constants count as weights, not as
    activations.

    Args:
        kinds: Of its layers, where they are known already.
    """
    kinds = kinds or layer_work.layer_kinds(plan)
    roles, count = kinds.roles, Counter(kinds.of_layer)
    active = [(one, count[at]) for at, one in enumerate(kinds.examples) if not one.is_inert]
    used = [(roles.source(one), many) for layer, many in active for one in layer.inputs]
    used = [(one, many) for one, many in used if one.name not in roles.constants]
    used += [(one, many) for layer, many in active for one in layer.outputs]
    carried = [(one, many) for layer, many in active for one in layer.weights]
    kernels = [(one.nbytes, many) for one, many in carried if not layer_work.is_bias(one.role)]
    kernels += [(roles.constants[name], 1) for name in kinds.constants_read]
    biases = [(one.nbytes, many) for one, many in carried if layer_work.is_bias(one.role)]
    activations = [(one.nbytes, many) for one, many in used]
    return PlanTotals(
        layers=len(plan.layers),
        active_layers=len(roles.active),
        layers_by_type=_count(active, attrgetter("type")),
        layers_by_precision=_count(
            active, lambda one: one.precision._name_ if one.precision else "unknown"
        ),
        weights_bytes=_sum(kernels),
        bias_bytes=_sum(biases),
        activation_bytes=_sum(activations),
        padded_activation_bytes=_sum([(one.padded_nbytes, many) for one, many in used]),
        whole_parts=sum(many for layer, many in active if is_whole_part(layer)),
        unknown_tensors=sum(n for size, n in (*kernels, *biases, *activations) if size is None),
    )


def _sum(sizes: Iterable[tuple[int | None, int]]) -> int | None:
    """Return the sum of sizes, each so many times; ``None`` if none is known."""
    return sum_known(None if size is None else size * many for size, many in sizes)


def _count(layers: Iterable[tuple[Layer, int]], key: Callable[[Layer], str]) -> dict[str, int]:
    found = Counter[str]()
    for layer, many in layers:
        found[key(layer)] += many
    return dict(found.most_common())
