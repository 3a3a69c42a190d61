"""The runs in a folder, read one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.records.run.run import Run
from enginescope.store.row import RunRow, row_of
from enginescope.store.run_folder import DOCUMENT, read_run, size_of


class Broken(Record, frozen=True, kw_only=True):
    """A run folder that cannot be read, and why."""

    name: str
    reason: str


class Scan(Record, frozen=True, kw_only=True):
    """What was found in folders of runs."""

    rows: tuple[RunRow, ...]
    broken: tuple[Broken, ...] = ()


class ReindexReport(Record, frozen=True, kw_only=True):
    """What making the index again has found."""

    indexed: int
    broken: tuple[Broken, ...] = ()


def read_named(folder: Path, series: Sequence[str] | None = None) -> Run:
    """Return the run in a store's `folder`; `series` as for `read_run`.

    Raises:
        FormatError: It is damaged, or the folder is not named by its id.
        StoreError: A newer enginescope wrote it, or it was deleted meanwhile.
    """
    try:
        run = read_run(folder, series=series)
    except FormatError as error:
        if folder.exists():
            raise
        raise StoreError(f"run {folder.name}", why="it was deleted while it was read") from error
    if run.id != folder.name:
        path = str(folder / DOCUMENT)
        raise FormatError(path, where="id", why=f"it is {run.id!r}", expected=repr(folder.name))
    return run


def scan(runs: Path, names: Iterable[str]) -> Scan:
    """Read the runs of these names; what cannot be read is named, what has vanished is not."""
    rows, broken = [], []
    for name in names:
        folder = runs / name
        try:
            run = read_named(folder)
        except (FormatError, StoreError) as error:
            if folder.exists():
                broken.append(Broken(name=name, reason=str(error)))
            continue
        rows.append(row_of(run, size_bytes=size_of(folder)))
    return Scan(rows=tuple(rows), broken=tuple(broken))
