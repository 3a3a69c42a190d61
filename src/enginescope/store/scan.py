"""The runs in a folder, read one by one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.model.run import Run
from enginescope.store.row import RunRow, row_of
from enginescope.store.run_folder import DOCUMENT, read_run, size_of

#: How a folder is called while a run is written into it.
PART = ".part-"
#: How a run's folder is called while it is deleted.
DELETED = ".deleted-"


class Broken(Record, frozen=True, kw_only=True):
    """A run folder that cannot be read, and why."""

    name: str
    reason: str


class Scan(Record, frozen=True, kw_only=True):
    """What was found in folders of runs."""

    rows: tuple[RunRow, ...]
    broken: tuple[Broken, ...] = ()


def run_names(runs: Path, prefix: str | None = None) -> tuple[str, ...]:
    """Return the names of the folders in `runs`, sorted; hidden ones only by their `prefix`.

    Raises
    ------
    StoreError
        The folder cannot be read.
    """
    try:
        return tuple(
            sorted(
                one.name
                for one in runs.iterdir()
                if (one.name.startswith(prefix) if prefix else not one.name.startswith("."))
                and one.is_dir()
            )
        )
    except FileNotFoundError:  # nothing has been saved yet
        return ()
    except OSError as error:
        raise StoreError(f"cannot read {runs}", why=error.strerror) from error


def read_named(folder: Path) -> Run:
    """Return the run in a store's `folder`.

    Raises
    ------
    FormatError
        It is damaged, or the folder is not named by its id.
    StoreError
        A newer enginescope wrote it, or it was deleted meanwhile.
    """
    try:
        run = read_run(folder)
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
