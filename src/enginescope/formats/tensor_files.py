"""Tensors in files: npy, npz, ONNX TensorProto, raw bytes; and ONNX data set folders."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import require

_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK\x03\x04"
_NUMBER = re.compile(r"_(\d+)\.pb$")


def load_tensor(
    path: Path, *, name: str, dtype: Any = None, shape: tuple[int, ...] | None = None
) -> np.ndarray[Any, Any]:
    """Return the tensor in a file, whose kind is told by its content.

    Parameters
    ----------
    path : Path
        ``.npy``; ``.npz`` holding an array called `name`, or one array only; ONNX ``.pb``; anything
        else is raw little-endian values.
    name : str
        The input it is for.
    dtype, shape : optional
        What raw bytes are read as; not checked for the other kinds.

    Raises
    ------
    FormatError
        The file is missing, damaged, or does not hold what is wanted.
    """
    head = read_bytes(path)[: len(_NPY_MAGIC)]
    if head == _NPY_MAGIC:
        return _load_npy(path)
    if head.startswith(_ZIP_MAGIC):
        return _load_npz(path, name)
    if path.suffix == ".pb":
        return load_tensor_proto(path)
    return _load_raw(path, dtype, shape)


def load_tensor_proto(path: Path) -> np.ndarray[Any, Any]:
    """Return the array in a serialised ONNX ``TensorProto``.

    Raises
    ------
    FormatError
        It is not one.
    MissingDependencyError
        The onnx package is not installed.
    """
    onnx = require("onnx", purpose="reading ONNX tensors", install="onnx")
    from google.protobuf.message import DecodeError
    from onnx import numpy_helper

    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(read_bytes(path))
        array: np.ndarray[Any, Any] = numpy_helper.to_array(tensor)
    except (DecodeError, ValueError, TypeError) as error:
        raise FormatError(str(path), why=str(error), expected="an ONNX TensorProto") from None
    return array


def load_data_set(folder: Path, names: Sequence[str], role: str = "input") -> dict[str, Any]:
    """Return the tensors of an ONNX ``test_data_set_*`` folder by name.

    The files ``input_0.pb``, ``input_1.pb``, … follow the order of the model's inputs, by number.

    Parameters
    ----------
    names : sequence of str
        The model's inputs (or outputs), in its order.
    role : {"input", "output"}

    Raises
    ------
    FormatError
        There are none, more than the model has, or one is damaged.
    """
    files = sorted(
        (path for path in folder.glob(f"{role}_*.pb") if _NUMBER.search(path.name)), key=_number
    )
    if not files:
        raise FormatError(str(folder), why=f"no {role}_*.pb in it", expected="an ONNX data set")
    if max(map(_number, files)) >= len(names):
        raise FormatError(
            str(files[-1]), why=f"the model has {len(names)} {role}s", expected=f"{role}_0.pb …"
        )
    return {names[_number(path)]: load_tensor_proto(path) for path in files}


def _number(path: Path) -> int:
    match = _NUMBER.search(path.name)
    return int(match[1]) if match else 0


def _load_npy(path: Path) -> np.ndarray[Any, Any]:
    try:
        array: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FormatError(str(path), why=str(error), expected="a NumPy array") from None
    return array


def _load_npz(path: Path, name: str) -> np.ndarray[Any, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            keys = list(archive)
            key = name if name in keys else keys[0] if len(keys) == 1 else None
            if key is None:
                raise FormatError(
                    str(path),
                    why=f"no array called {name}; it holds {', '.join(keys) or 'nothing'}",
                )
            array: np.ndarray[Any, Any] = archive[key]
    except (ValueError, OSError, EOFError, KeyError, BadZipFile) as error:
        raise FormatError(str(path), why=str(error), expected="an npz archive") from None
    return array


def _load_raw(path: Path, dtype: Any, shape: tuple[int, ...] | None) -> np.ndarray[Any, Any]:
    if dtype is None or shape is None:
        raise FormatError(str(path), why="raw bytes need a type and a shape")
    data = read_bytes(path)
    kind = np.dtype(dtype).newbyteorder("<")
    wanted = math.prod(shape) * kind.itemsize
    if len(data) != wanted:
        raise FormatError(
            str(path),
            why=f"{len(data):,} bytes",
            expected=f"{wanted:,} bytes of {np.dtype(dtype)} for shape {'x'.join(map(str, shape))}",
        )
    return np.frombuffer(data, dtype=kind).astype(np.dtype(dtype)).reshape(shape)
