"""The folder of a suite: its plan, and a line for each cell that has ended.

``suite.json`` is the plan; ``cells.jsonl`` grows by one line as a cell ends, whatever its outcome,
so that a suite that was killed goes on where it was. The last line of a cell is the one that holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from enginescope.core.errors import StoreError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.model.suite import CellRow, SuitePlan, SuiteResult

PLAN = "suite.json"
ROWS = "cells.jsonl"
#: Folder of a store's suites.
SUITES = "suites"


class SuiteRunsError(StoreError):
    """Another process is running the suite."""


class SuiteFolder:
    """A folder with a suite's plan and rows.

    Parameters
    ----------
    path : Path
        Made when first written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether a suite lies there."""
        return (self.path / PLAN).is_file()

    def plan(self) -> SuitePlan:
        """Return the plan.

        Raises
        ------
        FormatError
            There is none, or it cannot be read.
        """
        file = self.path / PLAN
        return decode(read_bytes(file), SuitePlan, source=str(file))

    def begin(self, plan: SuitePlan) -> None:
        """Write the plan.

        Raises
        ------
        StoreError
            The folder cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path / PLAN, encode(plan))
        except OSError as error:
            raise self._unwritable(error) from error

    def rows(self) -> dict[str, CellRow]:
        """Return the last row of every cell by its key, those of former plans too.

        A line that was cut off by a kill, or that an older program wrote, is left out: its cell
        counts as not done.
        """
        file = self.path / ROWS
        if not file.is_file():
            return {}
        return {row.cell.key: row for row in rows_in(read_bytes(file))}

    def keep(self, row: CellRow) -> None:
        """Add a row; it is on the disk when this returns.

        Raises
        ------
        StoreError
            The folder cannot be written.
        """
        try:
            with (self.path / ROWS).open("ab+") as file:
                data = msgspec.json.encode(row) + b"\n"
                if not _ends_a_line(self.path / ROWS):  # a kill has left half a line
                    data = b"\n" + data
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def result(self) -> SuiteResult:
        """Return the plan with the rows of its cells."""
        plan, rows = self.plan(), self.rows()
        kept = tuple(rows[one.key] for one in plan.cells if one.key in rows)
        return SuiteResult(plan=plan, rows=kept)

    @contextmanager
    def held(self) -> Iterator[None]:
        """In this block, no other process runs this suite.

        Raises
        ------
        StoreError
            One does, or the folder cannot be written.
        """
        import fcntl  # not on Windows, where suites can still be read

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise self._unwritable(error) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise SuiteRunsError(
                    f"suite folder {self.path}",
                    why="another process is running this suite",
                    hint="wait for it, or --name another",
                ) from error
            yield

    def _unwritable(self, error: OSError) -> StoreError:
        why = error.strerror or str(error)
        return StoreError(f"cannot write to the suite's folder {self.path}", why=why)


def rows_in(data: bytes) -> Iterator[CellRow]:
    """Yield the rows in lines; those that cannot be read are left out."""
    decoder = msgspec.json.Decoder(CellRow)
    for line in data.splitlines():
        with suppress(msgspec.DecodeError):  # ValidationError is one
            yield decoder.decode(line)


def suite_folders(store: Path) -> tuple[SuiteFolder, ...]:
    """Return the suites in a store's folder, by name."""
    folder = store / SUITES
    found: Iterable[Path] = sorted(folder.iterdir()) if folder.is_dir() else ()
    return tuple(one for one in map(SuiteFolder, found) if one.exists)


def suite_named(name: str, store: Path) -> SuiteFolder | None:
    """Return the suite in a folder, or of that name in a store; ``None``: there is none."""
    own = SuiteFolder(Path(name))
    if own.exists:
        return own
    if not name or Path(name).name != name:
        return None
    kept = SuiteFolder(store / SUITES / name)
    return kept if kept.exists else None


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return True
        file.seek(size - 1)
        return file.read(1) == b"\n"
