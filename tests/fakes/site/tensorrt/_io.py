"""Memory formats of inputs and outputs, and values in them."""

import math
from typing import Any

import numpy as np
from tensorrt._enums import ALL

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
