"""Values of tensors in files: npy, npz, raw bytes, ONNX protobuf, and data sets of the latter."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import read_bytes
from enginescope.core.optional import require

Array: TypeAlias = Any

_NPY = b"\x93NUMPY"
_ZIP = b"PK"
_NUMBERED = re.compile(r"^(input|output)_(\d{1,6})\.pb$")


def load_tensor(
    path: Path,
    *,
    name: str | None = None,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    opened: dict[Path, Any] | None = None,
) -> Array:
    """Return the values in a file.

    npy and npz are known by their first bytes, ONNX ``TensorProto`` by the suffix ``.pb``; anything
    else is raw values in C order.

    Args:
        name: Which array of an npz with several.
        dtype: Of raw values.
        shape: Of raw values.
        opened: The npz files that were read before; another is added, so that the next array of it
            costs no second look at all their names.

    Returns:
        As the file has it; raw values in `shape`.
    """
    if opened is not None and path in opened:
        return _member(path, opened[path], name)
    data = read_bytes(path)
    if data.startswith((_NPY, _ZIP)):
        with _numpy_errors(path):
            loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        if opened is not None:
            opened[path] = loaded
        return _member(path, loaded, name)
    if path.suffix == ".pb":
        return _from_onnx(path, data)[1]
    return _from_raw(path, data, dtype, shape)


def load_data_set(folder: Path, names: Sequence[str], *, role: str = "input") -> dict[str, Array]:
    """Return the values in a ``test_data_set_*`` folder, by tensor name.

    ``input_0.pb``, ``input_1.pb``, … in the order of their numbers. A file belongs to the tensor
    it names, else to the one at its position in `names`.

    Args:
        names: The model's inputs, or outputs, in order.
    """
    arrays: dict[str, Array] = {}
    for number, path in _numbered(folder, role):
        own_name, values = _from_onnx(path, read_bytes(path))
        name = own_name if own_name in names else (names[number] if number < len(names) else None)
        if name is None or name in arrays:
            raise FormatError(
                str(path),
                why=f"it belongs to no further {role} of the model",
                expected=f"values for one of: {', '.join(map(repr, names))}",
            )
        arrays[name] = values
    return arrays


def _numbered(folder: Path, role: str) -> list[tuple[int, Path]]:
    try:
        found = [
            (match, path) for path in folder.iterdir() if (match := _NUMBERED.match(path.name))
        ]
    except OSError as error:
        raise FormatError(str(folder), why=error.strerror or str(error)) from None
    return sorted((int(match[2]), path) for match, path in found if match[1] == role)


@contextmanager
def _numpy_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FormatError:
        raise
    except Exception as error:  # noqa: BLE001 - zip, zlib, header and pickle errors share no base
        raise FormatError(str(path), why=f"NumPy cannot read it ({error})") from None


def _member(path: Path, archive: Any, name: str | None) -> Array:
    with _numpy_errors(path):
        return archive[_key(path, list(archive.files), name)]


def _key(path: Path, keys: list[str], name: str | None) -> str:
    if name in keys:
        return str(name)
    if len(keys) == 1:
        return keys[0]
    raise FormatError(
        str(path),
        why=f"it holds {', '.join(keys) or 'no arrays'}",
        expected=f"an array named {name}" if name else "a single array",
    )


def _from_onnx(path: Path, data: bytes) -> tuple[str, Array]:
    onnx = require("onnx", purpose=f"reading {path.name}", install="enginescope")
    helper = require("onnx.numpy_helper", purpose=f"reading {path.name}", install="enginescope")
    proto = onnx.TensorProto()
    try:
        proto.ParseFromString(data)
        is_external = proto.data_location == onnx.TensorProto.EXTERNAL
        values = None if is_external else helper.to_array(proto)
    except Exception as error:  # noqa: BLE001 - each protobuf runtime has a DecodeError of its own
        raise FormatError(
            str(path), why=f"it is not an ONNX tensor ({error})", expected="a TensorProto"
        ) from None
    if is_external:
        raise FormatError(
            str(path), why="its values are in another file", expected="values inside the file"
        )
    return proto.name, values


def _from_raw(path: Path, data: bytes, dtype: Any, shape: Sequence[int] | None) -> Array:
    if dtype is None or shape is None:
        raise FormatError(
            str(path),
            why="raw bytes have neither type nor shape",
            expected="npy, npz, pb, or a type and a shape",
        )
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if len(data) != size:
        raise FormatError(
            str(path),
            why=f"it has {len(data):,} bytes",
            expected=f"{size:,} bytes: {kind} in {'x'.join(str(dim) for dim in shape) or 'scalar'}",
        )
    return np.frombuffer(data, dtype=kind).reshape(tuple(shape)).copy()
