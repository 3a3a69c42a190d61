"""Copies of ONNX models that round to a narrower type and compute in FP32.

Such a copy shows how far honest rounding moves each output of this model. Nodes that are added do
the rounding, so that weights in other files are never read.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from enginescope.core.errors import UnsupportedError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_copies import write_copy
from enginescope.formats.onnx.onnx_graph import inferred, reads
from enginescope.formats.onnx.onnx_precision import inner_graphs, load_without_weights, refill

#: Explicit bits of the mantissa, where arithmetic in FP32 rounds to them.
_MANTISSA_BITS = {"bf16": 7, "tf32": 10, "fp8": 3}
_LARGEST_FP16 = 65504.0
_FP32_BITS = 23
#: Below what any scale is.
_TINY = 1e-30


class RoundingNodes:
    """Makes the nodes of one row of limits, for one opset.

    Args:
        order: One of `onnx_rounding.ORDERS`.

    Attributes:
        constants: Nodes to put before all others.
    """

    def __init__(self, row: str, opset: int, order: str = "nearest") -> None:
        self._row, self._opset, self._order = row, opset, order
        self._onnx = require("onnx", purpose="rounding a model", install="onnx")
        self._made: list[Any] = []
        self._names: dict[str, str] = {}
        self._count = 0
        self.constants: list[Any] = []

    def taken(self) -> list[Any]:
        """Return the nodes made since the last call."""
        made, self._made = self._made, []
        return made

    def activation(self, source: str, target: str = "") -> str:
        """Round an activation to `target`; INT8 by the range of its own values."""
        if self._row == "int8":
            return self._by_range(source, target)
        return self._by_type(source, target)

    def weight(self, source: str, *, axis: int | None = None, rank: int | None = None) -> str:
        """Round a weight; INT8 by the largest of each channel along `axis`."""
        if self._row == "int8":
            return self._by_channel(source, axis, rank)
        return self._by_type(source, "")

    def largest(self, tensors: list[str], target: str) -> Any:
        """Give the largest |value| of each tensor as one output, and return its declaration."""
        shape = self._constant("one_element", [1], "int64")
        each = []
        for name in tensors:
            size = self._add("ReduceMax", self._add("Abs", name), keepdims=0)
            each.append(self._add("Reshape", size, shape))
        self._add("Concat", *each, target=target, axis=0)
        kind = self._onnx.TensorProto.FLOAT
        return self._onnx.helper.make_tensor_value_info(target, kind, [len(tensors)])

    def _by_type(self, source: str, target: str) -> str:
        if self._row == "fp16":
            high = self._constant("high", _LARGEST_FP16)
            low = self._constant("low", -_LARGEST_FP16)
            within = self._add("Max", self._add("Min", source, high), low)
            types = self._onnx.TensorProto
            half = self._add("Cast", within, to=types.FLOAT16)
            return self._add("Cast", half, target=target, to=types.FLOAT)
        bits = _MANTISSA_BITS[self._row]
        if self._order != "toward zero":
            return self.mantissa(source, target, bits)
        nearest = self.mantissa(source, "", bits)  # one step less where that is farther from 0
        less = self._add("Mul", nearest, self._constant("less", 1 - 0.75 * 2.0**-bits))
        is_beyond = self._add("Less", self._add("Abs", source), self._add("Abs", nearest))
        return self._add("Where", is_beyond, self.mantissa(less, "", bits), nearest, target=target)

    def mantissa(self, source: str, target: str, bits: int) -> str:
        """Round to so many explicit bits of the mantissa: Veltkamp's splitting.

        The upper bits of x are c − (c − x) with c = (2ᵏ + 1)·x.
        """
        shift = _FP32_BITS - bits
        factor = self._constant(f"factor_{shift}", 2.0**shift + 1)
        most = self._constant(f"most_{shift}", 2.0 ** (126 - shift))
        scaled = self._add("Mul", source, factor)
        upper = self._add("Sub", scaled, self._add("Sub", scaled, source))
        is_small = self._add("Less", self._add("Abs", source), most)
        return self._add("Where", is_small, upper, source, target=target)

    def _by_range(self, source: str, target: str) -> str:
        zero = self._constant("zero", 0.0)
        low = self._add("Min", self._add("ReduceMin", source, keepdims=0), zero)
        high = self._add("Max", self._add("ReduceMax", source, keepdims=0), zero)
        step = self._step(self._add("Sub", high, low), 255.0)
        codes = self._nearest(self._add("Div", self._add("Sub", source, low), step))
        return self._add("Add", self._add("Mul", codes, step), low, target=target)

    def _by_channel(self, source: str, axis: int | None, rank: int | None) -> str:
        size = self._add("Abs", source)
        if axis is None or rank is None:
            largest = self._add("ReduceMax", size, keepdims=0)
        else:
            axes = [one for one in range(rank) if one != axis]
            if self._opset < 18:
                largest = self._add("ReduceMax", size, axes=axes, keepdims=1)
            else:
                name = self._constant(f"axes_{'_'.join(map(str, axes))}", axes, "int64")
                largest = self._add("ReduceMax", size, name, keepdims=1)
        step = self._step(largest, 127.0)
        return self._add("Mul", self._nearest(self._add("Div", source, step)), step)

    def _step(self, span: str, codes: float) -> str:
        count, tiny = self._constant(f"codes_{codes:g}", codes), self._constant("tiny", _TINY)
        return self._add("Max", self._add("Div", span, count), tiny)

    def _nearest(self, source: str) -> str:
        if self._opset >= 11:
            return self._add("Round", source)
        return self._add("Floor", self._add("Add", source, self._constant("half", 0.5)))

    def _constant(self, name: str, value: Any, dtype: str = "float32") -> str:
        """Return the name of a constant, which is made once."""
        if name not in self._names:
            import numpy as np

            self._names[name] = full = f"enginescope::{name}"
            tensor = self._onnx.numpy_helper.from_array(np.array(value, dtype=dtype), full)
            self.constants.append(self._onnx.helper.make_node("Constant", [], [full], value=tensor))
        return self._names[name]

    def _add(self, operator: str, *inputs: str, target: str = "", **attributes: Any) -> str:
        self._count += 1
        output = target or f"enginescope::{self._count}"
        make = self._onnx.helper.make_node
        self._made.append(make(operator, list(inputs), [output], **attributes))
        return output


#: Rows of limits whose type a copy can round to.
ROUNDED_ROWS = frozenset({"fp16", "bf16", "tf32", "int8", "fp8"})
#: Honest ways to round, by row; of the others only ``nearest``. ``toward zero``: tensor cores drop
#: the lower bits of FP32. ``partial sums``: FP16 holds the sums of a matrix product too.
ORDERS: dict[str, tuple[str, ...]] = {
    "tf32": ("nearest", "toward zero"),
    "fp16": ("nearest", "partial sums"),
}
#: Products that a tensor core adds up before it rounds, and explicit bits of FP16's mantissa.
_AT_ONCE, _FP16_BITS = 16, 10
#: Output of a copy for FP16: the largest |value| of each activation, before it is rounded.
LARGEST = "enginescope::largest"
#: Rows that store every activation in their type; the others round what matrix operators read.
_STORED = frozenset({"fp16", "bf16"})
#: Inputs of operators that multiply matrices, and the weights' axis of output channels.
_MATRIX: dict[str, int | None] = {
    "Conv": 0,
    "FusedConv": 0,
    "ConvTranspose": 1,
    "MatMul": -1,
    "FusedMatMul": -1,
    "Gemm": 1,
    "FusedGemm": 1,
    "Einsum": None,
    "LSTM": None,
    "GRU": None,
    "RNN": None,
}
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
#: Operators whose inputs hold scales and sizes: converters leave these in FP32.
_EXEMPT = frozenset({"Resize", "Upsample", "NonMaxSuppression", "Range", "CumSum", "OneHot"})
#: Outputs that depend on shapes alone.
_OF_SHAPES = frozenset({"Shape", "Size"})
_LEAST_OPSET = 9


class RoundedCopy(Record, frozen=True, kw_only=True):
    """A copy that rounds.

    Attributes:
        tensors: Tensors that are rounded.
        activations: Those whose largest values `LARGEST` gives, in its order.
    """

    path: Path
    tensors: int
    activations: tuple[str, ...]


def rounded_onnx(path: Path, row: str, folder: Path, order: str = "nearest") -> RoundedCopy:
    """Write a copy of a model that rounds weights and activations to the type of a row.

    FP16 and BF16: every FP32 tensor. TF32, INT8 and FP8: the inputs of matrix operators; INT8 with
    a scale for each output channel of the weights, and one for each activation from its own range.
    Values beyond FP16's range become its largest.

    Args:
        row: One of `ROUNDED_ROWS`.
        order: One of `ORDERS` of the row.
        folder: Gets the copy and links to the files of its weights.
    """
    model = load_without_weights(str(path))
    opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 1)
    if opset < _LEAST_OPSET:
        why = f"its opset is {opset}; emulating {row} takes {_LEAST_OPSET}"
        raise UnsupportedError(f"{path.name} cannot be rounded", why=why, hint="export it again")
    if model.functions:
        inliner = require("onnx.inliner", purpose="rounding a model", install="onnx")
        model = inliner.inline_local_functions(model)
    model = inferred(model)
    nodes = RoundingNodes(row, opset, order)
    rounding = _Rounding(row, nodes, dict(_types(model.graph)), rounds_sums=order == "partial sums")
    rounding.whole(model.graph)
    if not rounding.count:
        why = "it holds no FP32 tensor whose type is known"
        raise UnsupportedError(f"{path.name} cannot be rounded to {row}", why=why)
    written = [name for node in model.graph.node for name in node.output]
    exact = [name for name in written if row == "fp16" and name.endswith("::exact")]
    if exact:
        model.graph.output.append(nodes.largest(exact, LARGEST))
    activations = tuple(name.removesuffix("::exact") for name in exact)
    model.graph.node.extend(nodes.taken())
    refill(model.graph.node, (*nodes.constants, *model.graph.node))
    copy = write_copy(model, path, folder)
    return RoundedCopy(path=copy, tensors=rounding.count, activations=activations)


#: Element type and shape; 0 for a size that is not known, None for a shape that is not.
_Type: TypeAlias = tuple[int, tuple[int, ...] | None]


def _types(graph: Any) -> Iterator[tuple[str, _Type]]:
    """Yield element type and shape of every tensor in a graph and those within it."""
    for value in (*graph.input, *graph.output, *graph.value_info):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type"):
            sizes = tuple(one.dim_value for one in tensor.shape.dim)
            yield value.name, (tensor.elem_type, sizes if tensor.HasField("shape") else None)
    for one in graph.initializer:
        yield one.name, (one.data_type, tuple(one.dims))
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                held = attribute.t
                yield node.output[0], (held.data_type, tuple(held.dims))
        for inner in inner_graphs(node):
            yield from _types(inner)


class _Rounding:
    def __init__(
        self, row: str, nodes: RoundingNodes, types: dict[str, _Type], *, rounds_sums: bool
    ) -> None:
        self._nodes, self._types = nodes, types
        self._stores, self._rounds_sums = row in _STORED, rounds_sums
        self.count = 0

    def whole(self, graph: Any) -> None:
        """Round a model's graph, its FP32 inputs first."""
        weights = {one.name for one in graph.initializer}
        inputs = [one.name for one in graph.input if one.name not in weights]
        renamed = {}
        if self._stores:
            for name in inputs:
                if self._is_fp32(name):
                    renamed[name] = self._nodes.activation(name)
                    self._types[renamed[name]] = self._types[name]
                    self.count += 1
        before = self._nodes.taken()
        _rename(graph, renamed)
        self._graph(graph, set())
        refill(graph.node, (*before, *graph.node))

    def _graph(self, graph: Any, outer: set[str]) -> None:
        static = outer | {one.name for one in graph.initializer}
        made: list[Any] = []
        weights: dict[tuple[str, int | None], str] = {}
        for node in graph.node:
            if node.op_type in _OF_SHAPES or set(reads(node)) <= static:
                static.update(name for name in node.output if name)
                made.append(node)
                continue
            for inner in inner_graphs(node):
                self._graph(inner, static)
            lost = self._lost_bits(node)
            for at, name in enumerate(node.input):
                node.input[at] = self._input(node, at, name, static, weights)
            made += [*self._nodes.taken(), node]
            for at, name in enumerate(node.output):
                if name and self._stores and self._is_fp32(name) and not _is_exempt(node):
                    node.output[at] = f"{name}::exact"
                    exact = node.output[at]
                    if lost:
                        exact = self._nodes.mantissa(exact, "", _FP16_BITS - lost)
                    self._nodes.activation(exact, name)
                    self.count += 1
            made += self._nodes.taken()
        refill(graph.node, made)

    def _lost_bits(self, node: Any) -> int:
        """Return how many bits of its sums an operator loses where FP16 holds partial sums.

        The roundings of n partial sums are a random walk, and the sums grow to the whole: √(n ÷ 3)
        times the error of rounding the whole once.
        """
        terms = self._terms(node) if self._rounds_sums and node.op_type in _MATRIX else 0
        return round(math.log2(max(terms / _AT_ONCE / 3, 1)) / 2)

    def _terms(self, node: Any) -> int:
        """Return how many products one element of a matrix operator adds up; 0: not known."""
        shapes = [(self._types.get(name) or (0, None))[1] or () for name in node.input[:3]]
        if len(shapes) < 2 or not all(shapes[:2]):
            return 0
        first, second = shapes[:2]
        if "Conv" in node.op_type:
            return math.prod(second[1:])
        if node.op_type in _RECURRENT:
            return second[-1] + (shapes[2][-1] if len(shapes) > 2 and shapes[2] else 0)
        transposed = any(one.name == "transA" and one.i for one in node.attribute)
        return first[0 if transposed else -1] if node.op_type != "Einsum" else 0

    def _input(
        self,
        node: Any,
        at: int,
        name: str,
        static: set[str],
        weights: dict[tuple[str, int | None], str],
    ) -> str:
        """Return the name of what a node reads in place of an input."""
        if not name or _is_exempt(node) or not self._is_fp32(name):
            return name
        if not self._stores and (
            node.op_type not in _MATRIX or at >= (3 if node.op_type in _RECURRENT else 2)
        ):
            return name
        is_weight = name in static
        if not is_weight and self._stores:  # rounded where it was computed
            return name
        shape = self._types[name][1]
        if is_weight and shape is not None and math.prod(shape) == 1:  # a factor or an epsilon
            return name
        axis = self._weight_axis(node, name) if is_weight else None
        key = name, axis
        if key not in weights:
            if is_weight:
                rank = None if shape is None else len(shape)
                weights[key] = self._nodes.weight(name, axis=axis, rank=rank)
            else:
                weights[key] = self._nodes.activation(name)
            self.count += 1
        return weights[key]

    def _weight_axis(self, node: Any, name: str) -> int | None:
        """Return the axis of a weight's output channels; None without one."""
        axis, rank = _MATRIX.get(node.op_type), len(self._types[name][1] or ())
        if self._stores or axis is None or rank < 2:
            return None
        if any(one.name == "transB" and one.i for one in node.attribute):
            axis = 0 if node.op_type in ("Gemm", "FusedGemm") else -2
        return axis % rank

    def _is_fp32(self, name: str) -> bool:
        return name in self._types and self._types[name][0] == 1  # TensorProto.FLOAT


def _is_exempt(node: Any) -> bool:
    """Whether an operator's FP32 inputs and outputs stay as they are: it quantizes, or sizes."""
    return node.op_type in _EXEMPT or "Quant" in node.op_type or node.op_type.startswith("Q")


def _rename(graph: Any, names: dict[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for inner in inner_graphs(node):
            _rename(inner, names)
