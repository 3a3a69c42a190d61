"""Values of inputs and outputs: printed, as JSON, and as raw files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from enginescope.compat.trtexec.log.engine_lines import type_name
from enginescope.compat.trtexec.log.log import Line, info, number, on_one_line
from enginescope.compat.trtexec.shapes import dims_text
from enginescope.core.errors import UnsupportedError
from enginescope.core.jsonio import encode
from enginescope.records.run.tensor_values import TensorValues
from enginescope.records.samples import Array
from enginescope.records.tensor import DataType


def numbers_of(tensor: TensorValues) -> Array:
    """Return the values, shape (elements,): whole numbers, booleans as 0 and 1, or floats.

    BF16 and FP8 (E4M3) become float32; two INT4 or FP4 (E2M1) lie in a byte, the low half first;
    E8M0 is a power of two.
    """
    count = math.prod(tensor.shape)
    raw = np.ascontiguousarray(tensor.data).reshape(-1)
    if tensor.dtype is DataType.BF16:
        return _halves(raw)[:count]
    if tensor.dtype in (DataType.INT4, DataType.FP4):
        nibbles = _nibbles(raw.view(np.uint8))[:count]
        return _signed(nibbles) if tensor.dtype is DataType.INT4 else _small_floats(1)[nibbles]
    if tensor.dtype is DataType.FP8:
        return _small_floats(3)[raw.view(np.uint8)][:count]
    if tensor.dtype is DataType.E8M0:
        return _powers()[raw.view(np.uint8)][:count]
    return raw.astype(np.uint8) if raw.dtype == np.bool_ else raw


def _halves(raw: Array) -> Array:
    upper: Array = raw.view(np.uint16).astype(np.uint32) << np.uint32(16)
    return upper.view(np.float32)


def _nibbles(raw: Array) -> Array:
    return np.stack([raw & 0xF, raw >> 4], axis=1).reshape(-1)


def _signed(nibbles: Array) -> Array:
    values = nibbles.astype(np.int8)
    return np.where(values > 7, values - 16, values)


@lru_cache(maxsize=2)
def _small_floats(mantissa_bits: int) -> Array:
    """Return every value of E4M3 (3 bits of mantissa) or E2M1 (1 bit), by its code.

    Source: the OCP formats of 8 and 4 bits; neither has infinities, E4M3 has one NaN a sign.
    """
    exponent_bits = 4 if mantissa_bits == 3 else 2
    size = 1 << (1 + exponent_bits + mantissa_bits)
    codes = np.arange(size)
    sign = np.where(codes >= size // 2, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    normal = (1 + fraction) * 2.0 ** (exponent - bias)
    values = sign * np.where(exponent == 0, fraction * 2.0 ** (1 - bias), normal)
    if mantissa_bits == 3:
        values[(codes & 0x7F) == 0x7F] = np.nan
    return values.astype(np.float32)


@lru_cache(maxsize=1)
def _powers() -> Array:
    values = 2.0 ** (np.arange(256) - 127.0)
    values[255] = np.nan
    return values


_SAFE = frozenset("._-,")


def output_lines(answers: Sequence[TensorValues]) -> tuple[Line, ...]:
    """Return ``--dumpOutput``: name and shape, then the values of each output."""
    parts = [
        f"{on_one_line(one.name)}: ({dims_text(one.shape)})\n{_printed(numbers_of(one))}"
        for one in answers
    ]
    return info("Output Tensors:", *parts)


def output_json(answers: Sequence[TensorValues]) -> bytes:
    """Return ``--exportOutput``: name, dimensions as text, and the values, flat.

    Ours beside: ``type``; and ``nonFinite``, the places of NaN and infinities, which JSON cannot
    hold and which are ``null`` among the values.

    Raises:
        UnsupportedError: The run kept no outputs.
    """
    if not answers:
        raise UnsupportedError("--exportOutput", why="the run holds no outputs")
    return encode([_record(one) for one in answers])


def raw_file_name(tensor: TensorValues, role: str) -> str:
    """Return the name trtexec gives a raw file: ``name.output.1.1000.fp32.raw``."""
    name = "".join(one if one.isalnum() or one in _SAFE else "_" for one in tensor.name)
    dims = ".".join(str(one) for one in tensor.shape)
    return f"{name}.{role}.{dims}.{type_name(tensor.dtype)}.raw"


def _record(tensor: TensorValues) -> dict[str, Any]:
    values = numbers_of(tensor)
    record: dict[str, Any] = {
        "name": tensor.name,
        "dimensions": dims_text(tensor.shape),
        "type": type_name(tensor.dtype),
        "values": values.tolist(),
    }
    if values.dtype.kind != "f" or bool(np.isfinite(values).all()):
        return record
    record["values"] = [
        one if ok else None
        for one, ok in zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    ]
    places = {"nan": np.isnan(values), "inf": np.isposinf(values), "-inf": np.isneginf(values)}
    record["nonFinite"] = {
        name: np.flatnonzero(where).tolist() for name, where in places.items() if where.any()
    }
    return record


def _printed(values: Array) -> str:
    if values.dtype.kind == "f":
        return " ".join(number(one) for one in values.tolist())
    return " ".join(str(one) for one in values.tolist())
