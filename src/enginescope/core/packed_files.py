"""Packed files of unknown origin: no path leads out of zip or tar, no file grows too large.

Files that may be packed with gzip, bzip2 or xz are read as if they were not.
"""

import bz2
import hashlib
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, NamedTuple, Protocol

from enginescope.core.errors import FormatError

#: What reading a damaged zip file raises.
UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, NotImplementedError),
    *(zipfile.BadZipFile, zipfile.LargeZipFile, tarfile.TarError, zlib.error),
)
#: What zip files begin with; the second of an empty one.
ZIP_TAGS = (b"PK\x03\x04", b"PK\x05\x06")
#: More files than that hold no engine; each costs memory before it is looked at.
MOST_MEMBERS = 100_000
#: What grows more than this, and beyond `LEAST_SUSPECT_BYTES`, was made to fill a disk: a file, or
#: all files together, whose parts of the zip file may overlap.
MOST_GROWTH = 500
LEAST_SUSPECT_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20
_ENCRYPTED = 0x1


class Member(NamedTuple):
    """A file in a zip file and where it goes, below a folder."""

    info: zipfile.ZipInfo
    path: PurePosixPath


@contextmanager
def opened_zip(file: Path, *, expected: str) -> Iterator[zipfile.ZipFile]:
    """Open a zip or tar file; whatever is wrong with it becomes a `FormatError`, also later.

    A tar file is copied into a temporary zip file; its own packing may be gzip, bzip2 or xz.

    Args:
        expected: What it should be, for the message.
    """
    try:
        with tempfile.TemporaryFile() if is_tar(file) else nullcontext(file) as source:
            if not isinstance(source, Path):
                _copy_tar(file, source)
            with zipfile.ZipFile(source) as packed:
                yield packed
    except UNREADABLE as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FormatError(str(file), why=why or "it is damaged", expected=expected) from error


def is_tar(file: Path) -> bool:
    """Return whether a file is a tar file, packed or not, with a file in it."""
    try:
        with tarfile.open(file) as archive:
            return archive.next() is not None
    except (*UNREADABLE, lzma.LZMAError):
        return False


def tar_files(archive: tarfile.TarFile, file: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and content of the files of a tar file, whose names may lead anywhere.

    Raises:
        FormatError: It holds something else than files and folders, or would grow beyond measure.
    """
    most = max(LEAST_SUSPECT_BYTES, MOST_GROWTH * file.stat().st_size)
    total = 0
    for count, member in enumerate(archive, 1):
        total += member.size
        if total > most or count > MOST_MEMBERS:
            why = f"it would grow to more than {most:,} bytes or {MOST_MEMBERS:,} files"
            raise FormatError(str(file), where=member.name, why=why)
        source = archive.extractfile(member) if member.isreg() else None
        if source is not None:
            yield member.name, source
        elif not member.isdir():
            raise FormatError(str(file), where=member.name, why="a link or a device")


def _copy_tar(file: Path, out: BinaryIO) -> None:
    """Write the files of a tar file to a zip file; see `tar_files`."""
    with tarfile.open(file) as archive, zipfile.ZipFile(out, "w") as copy:
        for name, source in tar_files(archive, file):
            with copy.open(name, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, _BLOCK_BYTES)


def safe_members(packed: zipfile.ZipFile, source: str) -> list[Member]:
    """Return the files in a zip file; folders are left out.

    Raises:
        FormatError: A path may lead out of its folder, is a link, encrypted, or there twice; or it
            would grow beyond measure, alone or with the others.
    """
    infos = packed.infolist()
    if len(infos) > MOST_MEMBERS:
        raise FormatError(source, why=f"{len(infos):,} files, more than {MOST_MEMBERS:,}")
    found: dict[PurePosixPath, Member] = {}
    for info in infos:
        path = _path(info, source)
        if info.is_dir():
            continue
        if path in found:
            raise FormatError(source, where=info.filename, why="a second file of that name")
        found[path] = Member(info, path)
    for path in found:
        if not found.keys().isdisjoint(path.parents):
            raise FormatError(source, where=str(path), why="a file of the name of its folder")
    _check_growth(packed, sum(info.file_size for info in infos), source)
    return list(found.values())


def copy_member(packed: zipfile.ZipFile, member: Member, out: BinaryIO | None = None) -> str:
    """Read a file, write it to `out` if there is one, and return its SHA-256.

    The zip file's own checksum is checked too.
    """
    digest = hashlib.sha256()
    with packed.open(member.info) as source:
        while block := source.read(_BLOCK_BYTES):
            digest.update(block)
            if out is not None:
                out.write(block)
    return digest.hexdigest()


def _check_growth(packed: zipfile.ZipFile, total: int, source: str) -> None:
    size = os.stat(packed.filename).st_size if packed.filename else 0  # noqa: PTH116
    if size and total > LEAST_SUSPECT_BYTES and total > MOST_GROWTH * size:
        why = f"its files would grow {total / size:,.0f} times, to {total:,} bytes together"
        raise FormatError(source, why=why)


def _path(info: zipfile.ZipInfo, source: str) -> PurePosixPath:
    name = info.filename
    path = PurePosixPath(name)
    is_plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name[:2]
    if leads_out or not is_plain or not path.parts:
        why = "a link or a path that may lead out of its folder"
        raise FormatError(source, where=name, why=why)
    if not name.isprintable():
        raise FormatError(source, where=repr(name), why="a name with control characters")
    if info.flag_bits & _ENCRYPTED:
        raise FormatError(source, where=name, why="it is encrypted")
    growth = info.file_size / max(info.compress_size, 1)
    if growth > MOST_GROWTH and info.file_size > LEAST_SUSPECT_BYTES:
        why = f"it would grow {growth:,.0f} times, to {info.file_size:,} bytes"
        raise FormatError(source, where=name, why=why)
    return path


class _Unpacker(Protocol):
    """What unpacks one member of a file, as `bz2` and `lzma` do."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipUnpacker:
    """zlib's unpacker, which leaves the data that it could not take, with the methods of `bz2`."""

    def __init__(self) -> None:
        #: A gzip header, the largest window.
        self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self.eof and not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class _Packing(NamedTuple):
    name: str
    suffix: str
    #: How its files begin.
    begin: re.Pattern[bytes]
    unpacker: Callable[[], _Unpacker]


_PACKINGS = (
    _Packing("gzip", ".gz", re.compile(rb"\x1f\x8b"), _GzipUnpacker),
    _Packing("bzip2", ".bz2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),
    _Packing(
        *("xz", ".xz", re.compile(rb"\xfd7zXZ\0")),
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_BYTES),
    ),
)
#: The longest beginning of `_PACKINGS`.
_TAG_BYTES = 10
#: Endings of names of packed files.
PACKED_SUFFIXES = tuple(packing.suffix for packing in _PACKINGS)
#: No log or JSON of an engine is larger.
MOST_BYTES = 512 << 20


def plain_bytes(path: Path) -> bytes:
    """Return a file's content, unpacked if gzip, bzip2 or xz packed it.

    Raises:
        FormatError: The file cannot be read, is cut off or damaged, or holds more than
            `MOST_BYTES`; names the file and the cause.
    """
    return _content(path, None)


def plain_head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of `plain_bytes`, or fewer."""
    return _content(path, size)


def plain_path(path: Path) -> Path:
    """Return a path without the suffix of its packing: the name that its content goes by."""
    return path.with_suffix("") if path.suffix.lower() in PACKED_SUFFIXES else path


def packing_of(head: bytes) -> str | None:
    """Return the name of the program that packed a file which begins with `head`."""
    packing = _packing(head)
    return packing.name if packing else None


def _packing(head: bytes) -> _Packing | None:
    return next((packing for packing in _PACKINGS if packing.begin.match(head)), None)


def _content(path: Path, size: int | None) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_TAG_BYTES if size is None else max(size, _TAG_BYTES))
            packing = _packing(head)
            if packing is not None:
                file.seek(0)
                blocks = iter(lambda: file.read(_BLOCK_BYTES), b"")
                return _unpacked(path, packing, blocks, size)
            return head + file.read() if size is None else head[:size]
    except OSError as error:
        raise FormatError(str(path), why=error.strerror or str(error)) from None


def _unpacked(path: Path, packing: _Packing, blocks: Iterator[bytes], size: int | None) -> bytes:
    """Unpack one or several members, as far as `size`."""
    most = MOST_BYTES if size is None else size - 1
    content, unpacker, is_whole = bytearray(), packing.unpacker(), True
    try:
        for block in blocks:
            pending = block.lstrip(b"\0") if is_whole else block
            is_more = bool(pending)
            while is_more and len(content) <= most:
                content += unpacker.decompress(pending, most + 1 - len(content))
                pending, is_more, is_whole = b"", not unpacker.needs_input, unpacker.eof
                if is_whole:
                    pending = unpacker.unused_data.lstrip(b"\0")
                    unpacker, is_more = packing.unpacker(), bool(pending)
            if len(content) > most:
                break
    except (zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not of bz2
            raise
        why = f"the {packing.name} data is damaged: {error}"
        raise FormatError(str(path), why=why) from None
    if size is None and len(content) > most:
        why = f"it holds more than {most >> 20} MiB when unpacked"
        raise FormatError(str(path), why=why, expected="a log or JSON of an engine")
    if size is None and not is_whole:
        why = f"the {packing.name} data is cut off"
        raise FormatError(str(path), why=why, expected="the whole file")
    return bytes(content)
