"""Plain values: dimensions, host memory, weights, types in NumPy's terms."""

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
from tensorrt._bound import Bound, need
from tensorrt._enums import ALL

DataType = ALL["DataType"]
_BITS = {"FLOAT": 32, "HALF": 16, "INT8": 8, "INT32": 32, "BOOL": 8, "UINT8": 8, "FP8": 8}
_BITS |= {"BF16": 16, "INT64": 64, "INT4": 4, "FP4": 4, "E8M0": 8}
#: What the fake itself computes with; sub-byte types it holds unpacked nowhere.
_NUMPY: dict[str, Any] = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "INT8": np.int8,
    "INT32": np.int32,
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "INT64": np.int64,
}
if find_spec("ml_dtypes"):  # comes with newer onnx
    import ml_dtypes

    _NUMPY |= {"BF16": ml_dtypes.bfloat16, "FP8": ml_dtypes.float8_e4m3fn}


def bits(dtype: Any) -> int:
    return _BITS[dtype.name]


def numpy_type(dtype: Any) -> Any:
    """Return NumPy's type, with the help of ml_dtypes."""
    return np.dtype(_NUMPY[dtype.name])


DataType.itemsize = property(lambda self: bits(self) / 8 if bits(self) < 8 else bits(self) // 8)


def volume(iterable: Any) -> int:
    return math.prod(iterable)


class Dims(Bound):
    """Dimensions: a sequence that compares with tuples and lists, and with nothing else."""

    def __init__(self, shape: Any = ()) -> None:
        self._shape = list(dims_of("Dims", shape))

    def __len__(self) -> int:
        return len(self._shape)

    def __getitem__(self, index: Any) -> Any:
        try:
            found = self._shape[index]
        except IndexError:
            raise IndexError("Out of bounds") from None
        return tuple(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: int) -> None:
        self._shape[index] = value

    def __eq__(self, other: object) -> bool:
        need("__eq__", (other, (list, tuple)))
        return list(other) == self._shape

    __hash__ = None

    def __repr__(self) -> str:
        return repr(tuple(self._shape))


def dims_of(method: str, shape: Any) -> tuple[int, ...]:
    """Return a shape that is given as `Dims`, tuple or list, and refuse others."""
    need(method, (shape, (Dims, tuple, list)))
    values = tuple(shape)
    need(method, *((one, (int, np.integer)) for one in values))
    return tuple(int(one) for one in values)


class IHostMemory(bytearray):
    """Bytes that the library owns: to be read through the buffer protocol only."""

    nbytes = property(lambda self: memoryview(self).nbytes)
    dtype = property(lambda _: DataType.INT8)

    def __len__(self) -> int:
        raise TypeError("object of type 'tensorrt.tensorrt.IHostMemory' has no len()")

    def __iter__(self) -> Any:
        raise TypeError("'tensorrt.tensorrt.IHostMemory' object is not iterable")

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("'tensorrt.tensorrt.IHostMemory' object is not subscriptable")

    def __bool__(self) -> bool:
        return True


class Weights(Bound):
    def __init__(self, a: Any = None) -> None:
        self._array = np.ascontiguousarray(a)

    @property
    def dtype(self) -> Any:
        names = {np.dtype(kind): name for name, kind in _NUMPY.items()}
        return getattr(DataType, names[self._array.dtype])

    size = property(lambda self: int(self._array.size))
    nbytes = property(lambda self: int(self._array.nbytes))

    def numpy(self) -> Any:
        return self._array
