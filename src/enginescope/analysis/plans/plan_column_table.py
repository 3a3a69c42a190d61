"""The columns of a plan's table: name, unit, meaning, and where the value is from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from enginescope.analysis.roofline.layer_work import LayerBytes, LayerWork, is_bias
from enginescope.analysis.roofline.roofline import LayerRoof
from enginescope.core.record import Record
from enginescope.records.plan.plan import Layer, LayerTiming, Weights
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


def _macs_per_ms(row: LayerFacts) -> float | None:
    return row.work.compute_efficiency(_time_ms(row))


def _bytes_per_ms(row: LayerFacts) -> float | None:
    return row.work.memory_efficiency(_time_ms(row))


def _time_ms(row: LayerFacts) -> float | None:
    return row.time_ms


def _share_pct(row: LayerFacts) -> float | None:
    time_ms = _time_ms(row)
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


def _kernel(row: LayerFacts) -> Weights | None:
    return next((weight for weight in row.layer.weights if not is_bias(weight.role)), None)


def _weights_type(row: LayerFacts) -> str | None:
    kernel = _kernel(row)
    return kernel.dtype.value if kernel and kernel.dtype else None


def _weights_count(row: LayerFacts) -> int | None:
    kernel = _kernel(row)
    return kernel.count if kernel else None


def _of_product(field: str) -> Callable[[LayerFacts], int | None]:
    return lambda row: getattr(row.work.product, field) if row.work.product else None


def _of_roof(field: str) -> Callable[[LayerFacts], Any]:
    return lambda row: getattr(row.roof, field) if row.roof else None


def _raw_ms(row: LayerFacts) -> float | None:
    return row.timing.raw_ms if row.timing else None


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
    ("weights_type", "", "", "element type of the kernel it carries", _weights_type),
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
        _time_ms,
    ),
    (
        "latency.raw_time",
        "",
        "ms",
        "as the profiler reported it, where `latency.avg_time` is without its part",
        _raw_ms,
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
        _macs_per_ms,
    ),
    (
        "attr.memory_efficiency",
        "attr.memory_efficiency",
        "byte/ms",
        "`moved_bytes` ÷ `latency.avg_time`",
        _bytes_per_ms,
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
