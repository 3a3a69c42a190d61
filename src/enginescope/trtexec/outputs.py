"""Values of inputs and outputs: printed, as JSON, and as raw files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from enginescope.core.errors import UnsupportedError
from enginescope.core.jsonio import encode
from enginescope.model.samples import Array
from enginescope.model.tensor_values import TensorValues
from enginescope.trtexec.engine_lines import type_name
from enginescope.trtexec.log import Line, info, number, on_one_line
from enginescope.trtexec.shapes import dims_text
from enginescope.trtexec.tensor_numbers import numbers_of

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

    Raises
    ------
    UnsupportedError
        The run kept no outputs.
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
