"""Records with arrays, as one JSON file and one ``.npy`` file per array.

The worker's result folder and a stored run are written by the same code, so neither needs pickle
and either can be read with nothing but a JSON parser and NumPy.
"""

import io
import math
import threading
import zlib
from functools import lru_cache
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeVar

import msgspec
import numpy as np

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode, read_stored, write_atomic

T = TypeVar("T")

#: Folder of a record's arrays, beside it.
ARRAYS = "arrays"
_KEY, _CHECKSUM = "npy", "crc32"
#: Last field of a record: the checksum of all bytes before it.
SEAL = "record_crc32"
_SEAL = f',\n  "{SEAL}": "%08x"\n}}\n'
_LENGTH = len(_SEAL % 0)
#: Where the checksum stands in it; bits of the rest that damage may have changed.
_DIGITS, _FLIPS = slice(-12, -4), 16
#: NumPy parses headers with `ast`, whose depth counter all threads share: CPython issue 106905.
_LOADING = threading.Lock()
#: Of a link to itself, a damaged header that cannot be parsed, or one that asks for all memory.
_UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, SyntaxError, TokenError)


def save_record(record: msgspec.Struct, folder: Path, name: str) -> None:
    """Write `record` to ``folder/name``; its arrays to ``folder/arrays/NNN.npy``.

    The JSON ends with its checksum. It is written last and atomically: a folder without it is
    an unfinished one.
    """
    arrays = folder / ARRAYS
    count = 0

    def write_array(value: Any) -> dict[str, str | int]:
        nonlocal count
        if not isinstance(value, np.ndarray):
            raise TypeError(f"cannot write a {type(value).__name__} to {name}")
        arrays.mkdir(parents=True, exist_ok=True)
        file = arrays / f"{count:03}.npy"
        count += 1
        buffer = io.BytesIO()  # into a file, NumPy does not say that its last block did not fit
        np.save(buffer, value, allow_pickle=False)
        file.write_bytes(buffer.getbuffer())
        return {_KEY: f"{ARRAYS}/{file.name}", _CHECKSUM: zlib.crc32(buffer.getbuffer())}

    folder.mkdir(parents=True, exist_ok=True)
    data = msgspec.json.encode(record, enc_hook=write_array)
    write_atomic(folder / name, sealed(msgspec.json.format(data, indent=2) + b"\n"))


def sealed(data: bytes) -> bytes:
    """Return a JSON object of several lines with its checksum as its last field."""
    body = data.removesuffix(b"\n}\n")
    return body + (_SEAL % zlib.crc32(body)).encode()


def check_seal(data: bytes, source: str) -> None:
    """Raise if a record differs from what `sealed` has returned; older records have no checksum.

    A checksum cannot tell a flipped bit from an edit by hand, so both are errors, as in arrays. Who
    meant an edit removes the field.

    Raises:
        FormatError: The record was damaged or edited; names `source`.
    """
    body, end = data[:-_LENGTH], data[-_LENGTH:]
    wanted = (_SEAL % zlib.crc32(body)).encode()
    if end == wanted:
        return
    frame = bytearray(wanted)
    frame[_DIGITS] = end[_DIGITS]
    flips = sum((a ^ b).bit_count() for a, b in zip(frame, end, strict=False))
    if (len(end) < _LENGTH or flips > _FLIPS) and f'"{SEAL}"'.encode() not in data:
        return
    why = "its checksum is another: it was damaged, or changed by hand"
    hint = f"restore it from a copy; if the change was meant, remove the last field, {SEAL}"
    raise FormatError(source, why=why, hint=hint)


def load_record(kind: type[T], folder: Path, name: str) -> T:
    """Return what `save_record` wrote.

    Raises:
        FormatError: A file is missing, damaged, or of another shape; or an array's path leaves the
            folder.
    """
    path = folder / name
    data = read_stored(path)
    check_seal(data, str(path))
    return decode_record(kind, data, folder, source=str(path))


def decode_record(kind: type[T], data: bytes, folder: Path, *, source: str) -> T:
    """Return the record in `data`, its arrays read from `folder`.

    Raises:
        FormatError: The bytes or an array's file are damaged or of another shape; names `source`.
    """
    inside = folder.resolve()

    def read_array(wanted: type, value: Any) -> Any:
        if wanted is not np.ndarray:
            raise NotImplementedError(wanted)  # what msgspec asks of a hook for other types
        return _load_array(inside, value)

    return decode(data, kind, source=source, hook=read_array)


def _load_array(folder: Path, value: Any) -> np.ndarray[Any, Any]:
    if not isinstance(value, dict) or not isinstance(value.get(_KEY), str):
        raise ValueError(f"expected an array as {{'{_KEY}': file}}")
    try:
        file = (folder / value[_KEY]).resolve()
        if not file.is_relative_to(folder):
            raise ValueError(f"array file {value[_KEY]} is outside the folder")
        if file.exists() and not file.is_file():
            raise ValueError(f"{value[_KEY]} is not a file")
        data = file.read_bytes()
        if value.get(_CHECKSUM) not in (None, zlib.crc32(data)):  # older records have none
            raise ValueError("its checksum is another: it was damaged, or changed by hand")
        return _array_in(data)
    except _UNREADABLE as error:
        raise ValueError(f"cannot read {value[_KEY]}: {error}") from None


def _array_in(data: bytes) -> np.ndarray[Any, Any]:
    """Return the array in the bytes of an ``.npy`` file, read-only and not copied."""
    if not data.startswith(np.lib.format.MAGIC_PREFIX):
        raise ValueError("not a single array")
    version = np.lib.format.read_magic(io.BytesIO(data))
    start = np.lib.format.MAGIC_LEN
    size = 2 if version == (1, 0) else 4
    begin = start + size + int.from_bytes(data[start : start + size], "little")
    shape, is_fortran, dtype = _header_of(data[:begin])
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    array = np.frombuffer(data, dtype, math.prod(shape), begin)
    return array if len(shape) == 1 else array.reshape(shape, order="F" if is_fortran else "C")


@lru_cache(maxsize=1024)
def _header_of(data: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the header of an ``.npy`` file; runs of one job have the same ones."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    with _LOADING:
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        return np.lib.format.read_array_header_2_0(stream)
