"""What a plan computes: ONNX Runtime's answers, through the plan's precision and formats."""

import ctypes
import threading
from typing import Any

import numpy as np
import onnxruntime
from tensorrt import _io
from tensorrt._enums import ALL
from tensorrt._values import numpy_type

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
        full = _io.padded(shape, self.io[name]["format"])
        return int(np.prod(full, dtype=np.int64)) * self.dtype(name).itemsize

    def read(self, name: str, address: int, shape: tuple[int, ...]) -> Any:
        size = self.nbytes(name, shape)
        raw = np.frombuffer(ctypes.string_at(address, size), self.dtype(name))
        return _io.unpack(raw, shape, self.io[name]["format"])

    def write(self, name: str, address: int, array: Any) -> None:
        data = _io.pack(array.astype(self.dtype(name)), self.io[name]["format"])
        ctypes.memmove(address, data.tobytes(), data.nbytes)

    def run(self, feeds: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs; equal inputs are computed once."""
        with self._lock:
            typed = {name: one.astype(self._types[name]) for name, one in feeds.items()}
            if self._last is None or not _equal(self._last[0], typed):
                found = self._session.run(self._outputs, typed)
                self._last = typed, [self._rounded(one) for one in found]
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


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(
        one[name].shape == other[name].shape and one[name].tobytes() == other[name].tobytes()
        for name in other
    )
