"""The folder of a suite: its plan, and a line for each cell that has ended.

``suite.json`` is the plan; ``cells.jsonl`` grows by one line as a cell ends, whatever its outcome,
so that a suite that was killed goes on where it was. The last line of a cell is the one that holds.
``lease.json`` says who runs the suite, and until when that is known.

A lease lets one machine run the suite at a time.
"""

import os
import secrets
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from enginescope.core.errors import FormatError, StoreError, os_errors_as
from enginescope.core.jsonio import decode, encode, prepared, read_stored, write_atomic
from enginescope.judge.notice import Notice
from enginescope.records.suite.suite import (
    CellRow,
    Claim,
    Lease,
    SuiteChange,
    SuitePlan,
    SuiteResult,
)
from enginescope.store.run_names import changed_at

#: Next step of who is refused.
WAIT = "wait for it, or --name another; an expired lease can be taken over"


class SuiteRunsError(StoreError):
    """Another process or machine is running the suite."""


def next_lease(
    current: Lease | None, claim: Claim, now: float, name: str, void: str | None = None
) -> Lease:
    """Return the lease after a claim.

    Args:
        now: Unix time, s.
        void: Token of a lease that is void, as its process is known to have ended.
    """
    if current is not None and current.token not in (claim.token, void) and current.expires > now:
        until = datetime.fromtimestamp(current.expires, timezone.utc)
        why = f"{current.owner} is running it, with a lease until {until:%Y-%m-%d %H:%M:%S} UTC"
        raise SuiteRunsError(f"suite {name}", why=why, hint=WAIT)
    return Lease(owner=claim.owner, token=claim.token, renewed=now, expires=now + claim.seconds)


PLAN = "suite.json"
ROWS = "cells.jsonl"
LEASE = "lease.json"
#: Lets a machine renew its own leases after a kill.
_HOLDER = ".holder"
#: Longer than a process that only writes to a suite holds it.
WRITING_S = 2.0
#: Folder of a store's suites.
SUITES = "suites"
_WAY_OUT = f"delete it and give the suite's command again: {ROWS} still has the finished cells"
#: How the line of a row begins.
_BEGIN = b'{"cell":'


class SuiteFolder:
    """A folder with a suite's plan and rows.

    Args:
        path: Made when first written to.

    Attributes:
        row_stored: Called with each row that `keep` has stored.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.row_stored: Callable[[CellRow], None] = lambda _row: None
        self._unstored: list[CellRow] = []

    @property
    def unstored(self) -> tuple[CellRow, ...]:
        """Rows that could not be stored; `result` has them, and the next session does them."""
        return tuple(self._unstored)

    def hold(self, row: CellRow) -> None:
        """Add a row to the results of this process alone."""
        self._unstored.append(row)

    @property
    def exists(self) -> bool:
        return (self.path / PLAN).is_file()

    def state(self) -> Hashable | None:
        """Return what differs once the suite has another row or plan; ``None``: unknown."""
        return changed_at(self.path / PLAN, self.path / ROWS)

    def plan(self) -> SuitePlan:
        file = self.path / PLAN
        try:
            return decode(read_stored(file), SuitePlan, source=str(file))
        except FormatError as error:
            if not self.exists:
                raise
            raise error.with_hint(_WAY_OUT) from error

    def begin(self, plan: SuitePlan) -> None:
        self._write(PLAN, encode(plan))

    def rows(self) -> dict[str, CellRow]:
        """Return the last row of every cell by its key, those of former plans too.

        A line that cannot be read is left out: its cell counts as not done.
        """
        return _by_key(_read(self._data())[0])

    def keep(self, *rows: CellRow) -> None:
        """Add rows; they are on the disk when this returns."""
        if not rows:
            return
        try:
            with self._writing():
                _end_last_line(self.path / ROWS)
                with (self.path / ROWS).open("ab") as file:
                    file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
                    file.flush()
                    os.fsync(file.fileno())
        except StoreError:
            for row in rows:
                self.hold(row)
            raise
        for row in rows:
            self.row_stored(row)

    def has(self, change: SuiteChange) -> bool:
        """Whether there is nothing to write, or this folder's own session writes it."""
        if change.claim is not None:
            return change.claim.token == self.token()
        return change.plan is None and not self._newer(change.rows)

    def put(self, change: SuiteChange) -> None:
        """Write what differs from the folder; of a cell, the row that ended last stays.

        The caller is in a block of `held`.
        """
        if change.claim is not None:
            lease = next_lease(
                self.lease(), change.claim, time.time(), self.path.name, self.token()
            )
            self._write(LEASE, encode(lease))
        if change.plan is not None:
            plan = encode(change.plan)
            if not self.exists or read_stored(self.path / PLAN) != plan:
                self._write(PLAN, plan)
        self.keep(*self._newer(change.rows))

    def _newer(self, rows: Sequence[CellRow]) -> list[CellRow]:
        stored = self.rows() if rows else {}
        there = ((row, stored.get(row.cell.key)) for row in rows)
        return [row for row, old in there if not old or (row.ended >= old.ended and row != old)]

    def lease(self) -> Lease | None:
        """Return the lease; ``None``: there was none, or it cannot be read."""
        file = self.path / LEASE
        try:
            return decode(read_stored(file), Lease, source=str(file)) if file.is_file() else None
        except FormatError:
            return None

    def token(self) -> str:
        """Return what shows that a lease is of this folder."""
        file = self.path / _HOLDER
        if not file.is_file():
            self._write(_HOLDER, secrets.token_hex(16).encode())
        return file.read_text(encoding="utf-8")

    def _write(self, name: str, data: bytes) -> None:
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path / name, data)

    def result(self) -> SuiteResult:
        """Return the plan with the rows of its cells."""
        plan, (read, spoilt) = self.plan(), _read(self._data())
        rows = _by_key((*read, *self._unstored))
        kept = tuple(rows[cell.key] for cell in plan.cells if cell.key in rows)
        return SuiteResult(plan=plan, rows=kept, notices=_notices(self.path / ROWS, spoilt))

    @contextmanager
    def held(self, wait_s: float = 0) -> Iterator[None]:
        """In this block, no other process runs this suite, or writes to it.

        Args:
            wait_s: Wait so long for one that only writes.
        """
        import fcntl  # not on Windows, where suites can still be read

        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / ".lock").open("w")
        with file:
            end = time.monotonic() + wait_s
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if time.monotonic() < end:
                        time.sleep(0.02)
                        continue
                    why = "another process is running this suite"
                    hint = "wait for it, or --name another"
                    raise SuiteRunsError(f"suite folder {self.path}", why=why, hint=hint) from error
            yield

    def _data(self) -> bytes:
        file = self.path / ROWS
        return read_stored(file) if file.is_file() else b""

    def _writing(self) -> AbstractContextManager[None]:
        return os_errors_as(StoreError, f"cannot write to the suite's folder {self.path}")


def rows_in(data: bytes) -> Iterator[CellRow]:
    """Yield the rows in lines; those that cannot be read are left out."""
    yield from _read(data)[0]


def unknown_suite(name: str) -> StoreError:
    """Return the error of rows or a claim of a suite whose plan is not stored."""
    return StoreError(f"suite {name}", why="its plan is not stored here", hint="send the plan too")


def suite_at(home: Path, name: str) -> SuiteFolder:
    """Return the folder of a suite below a store's folder."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise StoreError(f"suite {name!r}", why="it is not a folder name")
    return SuiteFolder(home / SUITES / name)


def suite_folders(store: Path) -> tuple[SuiteFolder, ...]:
    """Return the suites in a store's folder, by name."""
    folder = store / SUITES
    found: Iterable[Path] = sorted(folder.iterdir()) if folder.is_dir() else ()
    return tuple(one for one in map(SuiteFolder, found) if one.exists)


def suite_named(name: str, store: Path) -> SuiteFolder | None:
    """Return the suite in a folder, or of that name in a store; ``None``: there is none."""
    own, stored = SuiteFolder(Path(name)), SuiteFolder(store / SUITES / name)
    if own.exists:
        return own
    return stored if name and Path(name).name == name and stored.exists else None


def _read(data: bytes) -> tuple[list[CellRow], dict[int, str]]:
    """Return rows, and why lines, counted from 1, cannot be read.

    The last line may be cut off by a kill, which is not a fault of the file.
    """
    decoder = msgspec.json.Decoder(prepared(CellRow))
    lines = data.split(b"\n")
    rows: list[CellRow] = []
    spoilt: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if number < len(lines) or not _is_begun(line):
                spoilt[number] = str(error)
    return rows, spoilt


def _is_begun(line: bytes) -> bool:
    """Whether a line is how the one of a row begins."""
    return line.startswith(_BEGIN) or _BEGIN.startswith(line)


def _by_key(rows: Iterable[CellRow]) -> dict[str, CellRow]:
    return {row.cell.key: row for row in rows}


def _notices(file: Path, spoilt: Mapping[int, str]) -> tuple[Notice, ...]:
    if not spoilt:
        return ()
    line, why = next(iter(spoilt.items()))
    more = f", and {len(spoilt) - 1:,} more" if len(spoilt) > 1 else ""
    left = "a cell without another line counts as not done, and the same suite command does it"
    message = f"line {line} of {file} cannot be read ({why}){more}: {left}"
    return (Notice("W-SUITE-LINE", message, {"file": str(file), "lines": list(spoilt)}),)


def _end_last_line(file: Path) -> None:
    """Let the next row begin a line: what a kill has left of the last one is taken away."""
    if not file.is_file():
        return
    with file.open("rb+") as rows:
        size = rows.seek(0, os.SEEK_END)
        rows.seek(max(0, size - 1))
        if rows.read() in (b"", b"\n"):
            return
        rows.seek(0)
        rest = rows.read().rpartition(b"\n")[2]
        if _is_begun(rest) and not _read(rest + b"\n")[0]:
            rows.truncate(size - len(rest))
        else:  # whole but for its end, or somebody else's
            rows.write(b"\n")
