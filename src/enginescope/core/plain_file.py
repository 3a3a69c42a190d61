"""Files that may be packed with gzip: read as if they were not.

What is unpacked is bounded, because a small packed file can hold any number of bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from enginescope.core.errors import FormatError

_TAG = b"\x1f\x8b"
#: zlib: a gzip header, the largest window.
_GZIP = 16 + zlib.MAX_WBITS
#: No log or JSON of an engine is larger.
MOST_BYTES = 512 << 20
_BLOCK_BYTES = 1 << 20


def plain_bytes(path: Path) -> bytes:
    """Return a file's content, unpacked if gzip packed it.

    Raises:
        FormatError: The file cannot be read, is cut off or damaged, or holds more than
            `MOST_BYTES`; names the file and the cause.
    """
    return _read(path, None)


def plain_head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of `plain_bytes`, or fewer.

    Raises:
        FormatError: As `plain_bytes`, for the part that was read.
    """
    return _read(path, size)


def plain_path(path: Path) -> Path:
    """Return a path without the suffix of gzip: the name that its content goes by."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def _read(path: Path, size: int | None) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(len(_TAG) if size is None else max(size, len(_TAG)))
            if head[: len(_TAG)] == _TAG:
                file.seek(0)
                return _unpacked(path, iter(lambda: file.read(_BLOCK_BYTES), b""), size)
            return head + file.read() if size is None else head[:size]
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None


def _unpacked(path: Path, blocks: Iterator[bytes], size: int | None) -> bytes:
    """Unpack one or several members, as far as `size`."""
    most = MOST_BYTES if size is None else size - 1
    content, unpacker, is_whole = bytearray(), zlib.decompressobj(_GZIP), True
    try:
        for block in blocks:
            pending = block
            while pending and len(content) <= most:
                content += unpacker.decompress(pending, most + 1 - len(content))
                pending, is_whole = unpacker.unconsumed_tail, unpacker.eof
                if unpacker.eof:
                    pending = unpacker.unused_data.lstrip(b"\0")
                    unpacker = zlib.decompressobj(_GZIP)
            if len(content) > most:
                break
    except zlib.error as error:
        raise FormatError(str(path), why=f"the gzip data is damaged: {error}") from None
    if size is not None:
        return bytes(content)
    if len(content) > most:
        why = f"it holds more than {most >> 20} MiB when unpacked"
        raise FormatError(str(path), why=why, expected="a log or JSON of an engine")
    if not is_whole:
        raise FormatError(str(path), why="the gzip data is cut off", expected="the whole file")
    return bytes(content)
