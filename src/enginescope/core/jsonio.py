"""Strict JSON to and from our records, atomic files, and the digests of files."""

import hashlib
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from enginescope.core.errors import FormatError

T = TypeVar("T")

_PREPARED: set[Any] = set()
_PREPARING = threading.Lock()


def prepared(kind: type[T]) -> type[T]:
    """Return `kind` once msgspec knows it.

    msgspec (0.22) examines a type at its first use, and two threads that do so at once may crash
    the process: types that several threads decode go through here.
    """
    if kind not in _PREPARED:
        with _PREPARING:
            msgspec.json.Decoder(kind)
            _PREPARED.add(kind)
    return kind


def encode(value: Any) -> bytes:
    """Return `value` as readable, strict JSON (UTF-8, two-space indent, newline at the end)."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def decode(
    data: bytes, kind: type[T], *, source: str, hook: Callable[[type, Any], Any] | None = None
) -> T:
    """Return `data` as a `kind`.

    Args:
        hook: Reads values of types that JSON has not.

    Raises:
        FormatError: The bytes are not JSON, or not of that shape; names `source` and the JSON path.
    """
    try:
        return msgspec.json.decode(data, type=prepared(kind), dec_hook=hook)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at ")
        raise FormatError(source, where=where.strip("`") or None, why=message) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(source, why=f"not valid JSON ({error})") from None


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, or a `FormatError` that names the file and the cause."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None


def read_stored(path: Path) -> bytes:
    """Return the bytes of a file that a store names; a pipe or a device is an error, not read."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FormatError(str(path), why="it is a pipe or a device", expected="a file")
    return read_bytes(path)


def write_atomic(path: Path, data: bytes | memoryview) -> None:
    """Write `data` so that a reader sees the old file or the new one, never half of one.

    What a link points to is written, and the link stays; a device or a pipe is written into, not
    replaced by a file.
    """
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not (path.is_file() or path.is_dir()):
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # also on Ctrl-C: leave no temporary file behind
        temporary.unlink(missing_ok=True)
        raise


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, lower-case hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
