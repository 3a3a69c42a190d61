"""Tensors of one sample in one file: an npz, with what NumPy's types lack beside it."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.record import Record
from enginescope.records.run.sample_set import SkippedSample
from enginescope.records.run.tensor_values import TensorValues
from enginescope.records.tensor import DataType

#: Member that says each tensor's type and shape; others are the tensors, by name.
_INDEX = "enginescope.tensors"
#: In a folder of answers: the samples that have none, since their files cannot be read.
_SKIPPED = "skipped.json"
_BY_NUMPY = {
    "float64": DataType.FP64,
    "float32": DataType.FP32,
    "float16": DataType.FP16,
    "int64": DataType.INT64,
    "int32": DataType.INT32,
    "int16": DataType.INT16,
    "int8": DataType.INT8,
    "uint64": DataType.UINT64,
    "uint32": DataType.UINT32,
    "uint16": DataType.UINT16,
    "uint8": DataType.UINT8,
    "bool": DataType.BOOL,
    "complex64": DataType.COMPLEX64,
    "complex128": DataType.COMPLEX128,
}


class _Entry(Record, frozen=True, kw_only=True):
    name: str
    dtype: DataType
    shape: tuple[int, ...]


def answer_file(folder: Path, sample: int) -> Path:
    """Return where the tensors of a sample lie, numbered from 0."""
    return folder / f"{sample:06}.npz"


def write_skipped(folder: Path, skipped: Sequence[SkippedSample]) -> None:
    """Write which samples have no answers in `folder`, and why; nothing where all have some."""
    if skipped:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _SKIPPED, encode(skipped))


def read_skipped(folder: Path) -> tuple[SkippedSample, ...]:
    """Return the samples that have no answers in `folder`.

    Raises:
        FormatError: The list is damaged.
    """
    path = folder / _SKIPPED
    if not path.is_file():
        return ()
    return decode(read_bytes(path), tuple[SkippedSample, ...], source=str(path))


def write_answers(path: Path, tensors: Sequence[TensorValues]) -> None:
    """Write the tensors of one sample; texts as NumPy's own, so that nothing needs pickle."""
    index = [_Entry(name=tensor.name, dtype=tensor.dtype, shape=tensor.shape) for tensor in tensors]
    members = {tensor.name: _plain(tensor) for tensor in tensors}
    members[_INDEX] = np.frombuffer(msgspec.json.encode(index), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **members)


def read_answers(path: Path) -> tuple[TensorValues, ...]:
    """Return the tensors of one sample, in the order in which the model gives them.

    Raises:
        FormatError: The file is missing or damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            if _INDEX not in held.files:
                return tuple(tensor_of(name, held[name]) for name in held.files)
            index = msgspec.json.decode(held[_INDEX].tobytes(), type=tuple[_Entry, ...])
            return tuple(
                TensorValues(name=one.name, dtype=one.dtype, shape=one.shape, data=held[one.name])
                for one in index
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, msgspec.MsgspecError) as error:
        raise FormatError(str(path), why=f"cannot be read ({error})") from None


def tensor_of(name: str, array: Any) -> TensorValues:
    """Return an array as a tensor of NumPy's type; texts as NumPy's own.

    Raises:
        FormatError: NumPy's type is none that tensors have.
    """
    dtype = _BY_NUMPY.get(array.dtype.name)
    if dtype is None:
        is_text = array.dtype.kind in "OUS"
        if not is_text and array.dtype.name == "bfloat16":
            return TensorValues(
                name=name, dtype=DataType.BF16, shape=array.shape, data=array.view(np.uint16)
            )
        if not is_text:
            raise FormatError(name, why=f"values of type {array.dtype} cannot be compared")
        texts = np.asarray(array, dtype=str)
        return TensorValues(name=name, dtype=DataType.STRING, shape=texts.shape, data=texts)
    return TensorValues(name=name, dtype=dtype, shape=array.shape, data=array)


def _plain(one: TensorValues) -> Any:
    if one.data.dtype.kind == "O":
        return np.asarray(one.data, dtype=str)
    return one.data
