"""What a plan computes: ONNX Runtime's answers, through the plan's precision and memory formats."""

import ctypes
import math
import threading
from typing import Any

import numpy as np
import onnxruntime
from tensorrt._base import ALL, numpy_type

TensorFormat = ALL["TensorFormat"]
#: Format -> elements in a vector along the channels; the channels come last in ``HWC*``.
_WIDTHS = {"CHW2": 2, "CHW4": 4, "CHW16": 16, "CHW32": 32, "HWC8": 8, "HWC16": 16}
_ORDINALS = {2: "Two", 4: "Four", 16: "Sixteen", 32: "Thirty-two"}
#: Formats that the fake can lay out, in the order in which it prefers them.
_OFFERED = ("LINEAR", "HWC", *_WIDTHS)
_WORDS = {"FLOAT": "FP32", "HALF": "FP16", "INT8": "Int8", "INT32": "INT32", "INT64": "INT64"}


def choose_format(mask: int, rank: int) -> str:
    """Return the first allowed format that the fake has."""
    for name in _OFFERED if rank == 4 else ("LINEAR",):
        if mask >> int(getattr(TensorFormat, name)) & 1:
            return name
    return "LINEAR"


def width(name: str) -> int:
    return _WIDTHS.get(name, 1)


def describe(name: str, dtype: str) -> str:
    """Return TensorRT's description of a format."""
    word = _WORDS.get(dtype, dtype)
    if name == "LINEAR":
        return f"Row major linear {word} format (k{name})"
    if name == "HWC":
        return f"Channel major {word} format (k{name})"
    size = _WIDTHS[name]
    if name.startswith("HWC"):
        return f"Channel major {word} format where channel % {size} == 0 (k{name})"
    return f"{_ORDINALS[size]} wide channel vectorized row major {word} format (k{name})"


def padded(shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Return a shape with its channels filled up to whole vectors."""
    size = width(name)
    if size == 1:
        return shape
    return (shape[0], math.ceil(shape[1] / size) * size, *shape[2:])


def unpack(data: Any, shape: tuple[int, ...], name: str) -> Any:
    """Return the array that lies in memory as `data`, flat, in a format."""
    if name == "LINEAR":
        return data.reshape(shape)
    batch, channels, height, wide = padded(shape, name)
    if name.startswith("HWC"):
        found = data.reshape(batch, height, wide, channels).transpose(0, 3, 1, 2)
    else:
        size = width(name)
        cut = data.reshape(batch, channels // size, height, wide, size)
        found = cut.transpose(0, 1, 4, 2, 3).reshape(batch, channels, height, wide)
    return found[:, : shape[1]]


def pack(array: Any, name: str) -> Any:
    """Return the bytes of an array in a format, padding zero."""
    if name == "LINEAR":
        return np.ascontiguousarray(array)
    full = np.zeros(padded(array.shape, name), array.dtype)
    full[:, : array.shape[1]] = array
    if name.startswith("HWC"):
        return np.ascontiguousarray(full.transpose(0, 2, 3, 1))
    size = width(name)
    batch, channels, height, wide = full.shape
    cut = full.reshape(batch, channels // size, size, height, wide)
    return np.ascontiguousarray(cut.transpose(0, 1, 3, 4, 2))


_DataType = ALL["DataType"]
_MODEL_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


class Execution:
    def __init__(self, model: Any, io: list[dict[str, Any]], precisions: list[str]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._types = {
            one.name: _MODEL_TYPES.get(one.type)
            for one in (*self._session.get_inputs(), *self._session.get_outputs())
        }
        self.io = {one["name"]: one for one in io}
        self._outputs = [one["name"] for one in io if not one["input"]]
        self._half = "FP16" in precisions
        self._last: tuple[dict[str, Any], list[Any]] | None = None
        self._lock = threading.Lock()

    def dtype(self, name: str) -> Any:
        return numpy_type(getattr(_DataType, self.io[name]["dtype"]))

    def nbytes(self, name: str, shape: tuple[int, ...]) -> int:
        """Return the bytes of a tensor in memory, padding included."""
        full = padded(shape, self.io[name]["format"])
        return int(np.prod(full, dtype=np.int64)) * self.dtype(name).itemsize

    def read(self, name: str, address: int, shape: tuple[int, ...]) -> Any:
        size = self.nbytes(name, shape)
        raw = np.frombuffer(ctypes.string_at(address, size), self.dtype(name))
        return unpack(raw, shape, self.io[name]["format"])

    def write(self, name: str, address: int, array: Any) -> None:
        data = pack(array.astype(self.dtype(name)), self.io[name]["format"])
        ctypes.memmove(address, data.tobytes(), data.nbytes)

    def run(self, feeds: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs; equal inputs are computed once."""
        with self._lock:
            typed = {name: one.astype(self._types[name]) for name, one in feeds.items()}
            key = {name: (one.shape, one.tobytes()) for name, one in typed.items()}
            if self._last is None or self._last[0] != key:
                found = self._session.run(self._outputs, typed)
                self._last = key, [self._rounded(one) for one in found]
            return dict(zip(self._outputs, self._last[1], strict=True))

    def _rounded(self, array: Any) -> Any:
        if self._half and array.dtype == np.float32:
            with np.errstate(over="ignore"):
                return array.astype(np.float16).astype(np.float32)
        return array

    def shapes(
        self, shapes: dict[str, tuple[int, ...]], values: dict[str, Any]
    ) -> dict[str, tuple[int, ...]]:
        """Return the outputs' shapes for the inputs' shapes (and values of shape tensors)."""
        feeds = {
            name: values.get(name, np.zeros(shape, self._types[name])).astype(self._types[name])
            for name, shape in shapes.items()
        }
        found = self._session.run(self._outputs, feeds)
        return {name: one.shape for name, one in zip(self._outputs, found, strict=True)}
