"""Values of outputs as ``trtexec --exportOutput`` writes them: name, shape as text, flat values.

The file has no types before ours wrote one, and six digits: whole numbers throughout are read as
INT64, others as FP32, whose rounding is of the same size.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.formats.lenient_json import Document
from enginescope.records.notice import Notice
from enginescope.records.run.run import TensorValues
from enginescope.records.tensor import DataType

_KEYS = frozenset({"name", "dimensions", "values"})
_TYPES = {
    "fp32": (DataType.FP32, np.float32),
    "fp16": (DataType.FP16, np.float16),
    "int64": (DataType.INT64, np.int64),
    "int32": (DataType.INT32, np.int32),
    "int8": (DataType.INT8, np.int8),
    "uint8": (DataType.UINT8, np.uint8),
    "bool": (DataType.BOOL, np.bool_),
}
_ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def is_outputs(value: Any) -> bool:
    """Whether the values of a JSON file are outputs with their values."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and one.keys() >= _KEYS for one in value)
        and all(isinstance(one["values"], list) for one in value)
    )


def outputs_of(document: Document) -> tuple[tuple[TensorValues, ...], tuple[Notice, ...]]:
    """Return the outputs, by name: the file's own order is that of a hash table.

    Raises:
        FormatError: Shape and number of values contradict, or a value is no number.
    """
    found = tuple(_tensor(one, document.source) for one in document.value)
    lost = sum(one["values"].count(None) for one in document.value if "nonFinite" not in one)
    notices = document.notices
    if lost:
        notices += (
            Notice(
                code="W-OUTPUTS-NOT-FINITE",
                message=f"{document.source} has {lost:,} values that are no numbers; which of NaN "
                "and infinity they were is not known, they are read as NaN",
                evidence={"file": document.source, "count": lost},
            ),
        )
    return tuple(sorted(found, key=lambda one: one.name)), notices


def _tensor(record: dict[str, Any], source: str) -> TensorValues:
    name, values = str(record["name"]), record["values"]
    shape = _shape(record["dimensions"], name, source)
    if len(values) != math.prod(shape):
        raise FormatError(
            source,
            where=name,
            why=f"it has {len(values):,} values",
            expected=f"{math.prod(shape):,} for {record['dimensions'] or 'a scalar'}",
        )
    dtype, kind = _type(record, values)
    if not all(value is None or isinstance(value, (int, float)) for value in values):
        raise FormatError(source, where=name, why="its values are no numbers")
    try:
        data = np.array([math.nan if value is None else value for value in values])
        with np.errstate(over="ignore", invalid="ignore"):
            data = data.astype(kind).reshape(shape)
    except (ValueError, OverflowError):
        raise FormatError(source, where=name, why="its values do not fit their type") from None
    for word, places in (record.get("nonFinite") or {}).items():
        data.reshape(-1)[places] = _ODD.get(word, math.nan)
    return TensorValues(name=name, dtype=dtype, shape=shape, data=data)


def _shape(text: Any, name: str, source: str) -> tuple[int, ...]:
    parts = [one for one in str(text).split("x") if one]
    if str(text) in ("scalar", "()"):
        return ()
    if not all(part.isdecimal() for part in parts):
        raise FormatError(source, where=name, why=f"{text!r} is no shape", expected="as in 1x1000")
    return tuple(map(int, parts))


def _type(record: dict[str, Any], values: list[Any]) -> tuple[DataType, Any]:
    known = _TYPES.get(str(record.get("type")))
    if known is not None:
        return known
    is_whole = "type" not in record and all(isinstance(value, int) for value in values)
    return _TYPES["int64" if is_whole and values else "fp32"]
