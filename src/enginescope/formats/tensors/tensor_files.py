"""Tensors in files: npy, npz, raw bytes, ONNX protobuf, data sets, and outputs of one sample.

Also reference outputs that lie in files: of a data set, or by sample in a folder.

Values of outputs as ``trtexec --exportOutput`` writes them: name, shape as text, flat values.

The file has no types before ours wrote one, and six digits: whole numbers throughout are read as
INT64, others as FP32, whose rounding is of the same size.
"""

import io
import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from enginescope.core.errors import FormatError, os_errors_as
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.formats.lenient_json import Document, read_json
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues
from enginescope.records.run.sample_set import Sample, SkippedSample
from enginescope.records.tensor import NUMPY, DataType

Array: TypeAlias = Any

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
    if data.startswith((b"\x93NUMPY", b"PK")):
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
            why = f"it belongs to no further {role} of the model"
            expected = f"values for one of: {', '.join(map(repr, names))}"
            raise FormatError(str(path), why=why, expected=expected)
        arrays[name] = values
    return arrays


def _numbered(folder: Path, role: str) -> list[tuple[int, Path]]:
    with os_errors_as(FormatError, str(folder)):
        matches = [(_NUMBERED.match(path.name), path) for path in folder.iterdir()]
    return sorted((int(match[2]), path) for match, path in matches if match and match[1] == role)


@contextmanager
def _numpy_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - zip, zlib, header and pickle errors share no base
        raise FormatError(str(path), why=f"NumPy cannot read it ({error})") from None


def _member(path: Path, archive: Any, name: str | None) -> Array:
    keys = archive.files
    if name not in keys and len(keys) != 1:
        what, expected = str(path), f"an array named {name}" if name else "a single array"
        raise FormatError(what, why=f"it holds {', '.join(keys) or 'no arrays'}", expected=expected)
    with _numpy_errors(path):
        return archive[name if name in keys else keys[0]]


def _from_onnx(path: Path, data: bytes) -> tuple[str, Array]:
    onnx = require("onnx", purpose=f"reading {path.name}", install="enginescope")
    helper = require("onnx.numpy_helper", purpose=f"reading {path.name}", install="enginescope")
    proto = onnx.TensorProto()
    try:
        proto.ParseFromString(data)
        is_external = proto.data_location == onnx.TensorProto.EXTERNAL
        values = None if is_external else helper.to_array(proto)
    except Exception as error:  # noqa: BLE001 - each protobuf runtime has a DecodeError of its own
        why, expected = f"it is not an ONNX tensor ({error})", "a TensorProto"
        raise FormatError(str(path), why=why, expected=expected) from None
    if is_external:
        why, expected = "its values are in another file", "values inside the file"
        raise FormatError(str(path), why=why, expected=expected)
    return proto.name, values


def _from_raw(path: Path, data: bytes, dtype: Any, shape: Sequence[int] | None) -> Array:
    if dtype is None or shape is None:
        why = "raw bytes have neither type nor shape"
        raise FormatError(str(path), why=why, expected="npy, npz, pb, or a type and a shape")
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if len(data) != size:
        expected = f"{size:,} bytes: {kind} in {'x'.join(str(dim) for dim in shape) or 'scalar'}"
        raise FormatError(str(path), why=f"it has {len(data):,} bytes", expected=expected)
    return np.frombuffer(data, dtype=kind).reshape(tuple(shape)).copy()


_KEYS = frozenset({"name", "dimensions", "values"})
_TYPES = {
    dtype.value.lower(): dtype
    for dtype in (
        *(DataType.FP32, DataType.FP16, DataType.INT64, DataType.INT32),
        *(DataType.INT8, DataType.UINT8, DataType.BOOL),
    )
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
    """Return the outputs, by name: the file's own order is that of a hash table."""
    found = tuple(_tensor(one, document.source) for one in document.value)
    lost = sum(one["values"].count(None) for one in document.value if "nonFinite" not in one)
    notices = document.notices
    if lost:
        odd = f"{document.source} has {lost:,} values that are not numbers"
        message = f"{odd}; enginescope reads them as NaN"
        evidence = {"file": document.source, "count": lost}
        notices += (Notice("W-OUTPUTS-NOT-FINITE", message, evidence),)
    return tuple(sorted(found, key=lambda one: one.name)), notices


def _tensor(record: dict[str, Any], source: str) -> TensorValues:
    name, values = str(record["name"]), record["values"]
    shape = _shape(record["dimensions"], name, source)
    if len(values) != math.prod(shape):
        why = f"it has {len(values):,} values"
        expected = f"{math.prod(shape):,} for {record['dimensions'] or 'a scalar'}"
        raise FormatError(source, where=name, why=why, expected=expected)
    is_whole = "type" not in record and values and all(isinstance(value, int) for value in values)
    dtype = _TYPES.get(str(record.get("type"))) or _TYPES["int64" if is_whole else "fp32"]
    if not all(value is None or isinstance(value, (int, float)) for value in values):
        raise FormatError(source, where=name, why="its values are not numbers")
    try:
        data = np.array([math.nan if value is None else value for value in values])
        with np.errstate(over="ignore", invalid="ignore"):
            data = data.astype(NUMPY[dtype]).reshape(shape)
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
        why = f"{text!r} is not a shape"
        raise FormatError(source, where=name, why=why, expected="as in 1x1000")
    return tuple(map(int, parts))


#: Member that says each tensor's type and shape; others are the tensors, by name.
_INDEX = "enginescope.tensors"
#: In a folder of answers: the samples that have none, since their files cannot be read.
_SKIPPED = "skipped.json"
_BY_NUMPY = {name: dtype for dtype, name in NUMPY.items()}


class _Entry(Record, frozen=True, kw_only=True):
    name: str
    dtype: DataType
    shape: tuple[int, ...]


def answer_file(folder: Path, sample: int) -> Path:
    """Return where the tensors of a sample lie, numbered from 0."""
    return folder / f"{sample:06}.npz"


def write_skipped(folder: Path, skipped: Sequence[SkippedSample]) -> None:
    """Write which samples have no outputs in `folder`, and why; nothing where all have some."""
    if skipped:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / _SKIPPED, encode(skipped))


def read_skipped(folder: Path) -> tuple[SkippedSample, ...]:
    """Return the samples that have no outputs in `folder`."""
    path = folder / _SKIPPED
    if not path.is_file():
        return ()
    return decode(read_bytes(path), tuple[SkippedSample, ...], source=str(path))


def write_answers(path: Path, tensors: Sequence[TensorValues]) -> None:
    """Write the tensors of one sample; texts as NumPy's own, so that nothing needs pickle."""
    index = [_Entry(name=tensor.name, dtype=tensor.dtype, shape=tensor.shape) for tensor in tensors]
    members = {
        tensor.name: np.asarray(tensor.data, dtype=str if tensor.data.dtype.kind == "O" else None)
        for tensor in tensors
    }
    members[_INDEX] = np.frombuffer(msgspec.json.encode(index), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **members)


def read_answers(path: Path) -> tuple[TensorValues, ...]:
    """Return the tensors of one sample, in the order in which the model gives them."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            if _INDEX not in held.files:
                return tuple(tensor_of(name, held[name]) for name in held.files)
            return tuple(
                TensorValues(name=one.name, dtype=one.dtype, shape=one.shape, data=held[one.name])
                for one in msgspec.json.decode(held[_INDEX].tobytes(), type=tuple[_Entry, ...])
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, msgspec.MsgspecError) as error:
        raise FormatError(str(path), why=f"cannot be read ({error})") from None


def tensor_of(name: str, array: Any) -> TensorValues:
    """Return an array as a tensor of NumPy's type; texts as NumPy's own."""
    dtype, data = _BY_NUMPY.get(array.dtype.name), array
    if dtype is None and array.dtype.kind in "OUS":
        dtype, data = DataType.STRING, np.asarray(array, dtype=str)
    elif dtype is None and array.dtype.name == "bfloat16":
        dtype, data = DataType.BF16, array.view(np.uint16)
    elif dtype is None:
        raise FormatError(name, why=f"values of type {array.dtype} cannot be compared")
    return TensorValues(name=name, dtype=dtype, shape=data.shape, data=data)


#: Files with one array, which is the only output's, or the output's that the file is named like.
_ARRAYS = (".npy", ".pb")


def has_expected(sample: Sample) -> bool:
    """Whether a sample is a data set with outputs beside its inputs."""
    return sample.data_set is not None and _has_outputs(Path(sample.data_set))


def expected_answers(sample: Sample, outputs: Sequence[str]) -> tuple[TensorValues, ...]:
    """Return the outputs in a sample's data set, by the model's names."""
    return _of_data_set(Path(sample.data_set or ""), outputs)


def stored_answers(
    folder: Path, number: int, sample: Sample, outputs: Sequence[str]
) -> tuple[TensorValues, ...]:
    """Return a sample's outputs from a folder: by the sample's name, else by its number.

    ``NAME.npz`` holds arrays by output, ``NAME.npy`` and ``NAME.pb`` the only output, ``NAME.json``
    what ``trtexec --exportOutput`` wrote; a folder ``NAME`` holds ``output_*.pb``, or
    ``OUTPUT.npy`` and ``OUTPUT.pb``. ``000000.npz`` and on are numbered.
    """
    for stem in dict.fromkeys((sample.name, Path(sample.name).stem)):
        found = _named(folder, stem, outputs) if stem else None
        if found is not None:
            return found
    numbered = answer_file(folder, number)
    if numbered.is_file():
        return read_answers(numbered)
    if number == 0 and _has_outputs(folder):
        return _of_data_set(folder, outputs)
    wanted = dict.fromkeys((f"{Path(sample.name).stem}.npz", numbered.name))
    why = f"it holds no outputs of sample {number} ({sample.name})"
    raise FormatError(str(folder), why=why, expected=", or ".join(wanted))


def _named(folder: Path, stem: str, outputs: Sequence[str]) -> tuple[TensorValues, ...] | None:
    if (folder / f"{stem}.npz").is_file():
        return read_answers(folder / f"{stem}.npz")
    for suffix in _ARRAYS if len(outputs) == 1 else ():
        found = folder / f"{stem}{suffix}"
        if found.is_file():
            return (tensor_of(outputs[0], load_tensor(found)),)
    exported = folder / f"{stem}.json"
    if exported.is_file():
        document = read_json(read_bytes(exported), str(exported))
        if not is_outputs(document.value):
            expected = "what trtexec --exportOutput wrote"
            raise FormatError(str(exported), why="no outputs", expected=expected)
        return outputs_of(document)[0]
    inner = folder / stem
    if _has_outputs(inner):
        return _of_data_set(inner, outputs)
    files = inner.iterdir() if inner.is_dir() else ()
    by_name = {file.stem: file for file in files if file.suffix in _ARRAYS}
    arrays = [tensor_of(name, load_tensor(by_name[name])) for name in outputs if name in by_name]
    return tuple(arrays) or None


def _of_data_set(folder: Path, outputs: Sequence[str]) -> tuple[TensorValues, ...]:
    arrays = load_data_set(folder, outputs, role="output")
    return tuple(tensor_of(name, array) for name, array in arrays.items())


def _has_outputs(folder: Path) -> bool:
    return any(folder.glob("output_*.pb"))
