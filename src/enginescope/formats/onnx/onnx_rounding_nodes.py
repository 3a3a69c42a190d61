"""ONNX nodes that round a tensor to a narrower type and leave it in FP32."""

from __future__ import annotations

from typing import Any

from enginescope.core.optional import require

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
        below = self.mantissa(less, "", bits)
        return self._add("Where", is_beyond, below, nearest, target=target)

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
            make = self._onnx.helper.make_node
            self.constants.append(make("Constant", [], [full], value=tensor))
        return self._names[name]

    def _add(self, operator: str, *inputs: str, target: str = "", **attributes: Any) -> str:
        self._count += 1
        output = target or f"enginescope::{self._count}"
        make = self._onnx.helper.make_node
        self._made.append(make(operator, list(inputs), [output], **attributes))
        return output
