"""Readers of other packages, for files that no built-in reader knows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from enginescope.core.errors import EnginescopeError
from enginescope.core.packed_files import plain_bytes, plain_path
from enginescope.core.plugins import Registry
from enginescope.core.record import Record
from enginescope.formats.benchmarks.benchmark_series import BenchmarkResult
from enginescope.formats.importing.artifact_kinds import HEAD_BYTES

READERS = Registry("reader", {})


class ForeignFile(Record, frozen=True, kw_only=True):
    """A file to recognize and to read.

    Attributes:
        path: May be packed with gzip, bzip2 or xz.
        head: The first MiB, unpacked.
    """

    path: Path
    head: bytes

    @property
    def name(self) -> str:
        """File name without the suffix of a packing."""
        return plain_path(self.path).name

    def content(self) -> bytes:
        """Return all bytes, unpacked."""
        return self.head if len(self.head) < HEAD_BYTES else plain_bytes(self.path)


class Reader(Protocol):
    """Reader of one kind of file: a module, a class or an object with these two functions."""

    def fits(self, file: ForeignFile, /) -> bool:
        """Whether the file is of this kind; `file.head` must suffice, since files can be large."""

    def read(self, file: ForeignFile, /) -> Sequence[BenchmarkResult]:
        """Return the results in a file; each becomes a run.

        Raises:
            FormatError: The file is not what it should be.
        """


def _fits(reader: Reader, file: ForeignFile) -> bool:
    return bool(reader.fits(file))


def reader_of(file: ForeignFile) -> tuple[str | None, Reader | None, tuple[EnginescopeError, ...]]:
    """Return name and reader of the first plug-in that knows a file, and the plug-ins that fail."""
    failed: list[EnginescopeError] = []
    for name, reader in READERS.usable():
        try:
            if isinstance(reader, EnginescopeError):
                raise reader
            if READERS.call(name, _fits, reader, file):
                return name, reader, tuple(failed)
        except EnginescopeError as error:
            failed.append(error)
    return None, None, tuple(failed)
