"""The runs of a store as strangers may ask for them: by whole ids, and files by their names.

Also figures of runs that histories are made of, in memory and on the disk.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from enginescope._version import __version__
from enginescope.analysis.verdicts.history import RunFigure, needed_series, run_figure
from enginescope.core.errors import FormatError, StoreError
from enginescope.core.jsonio import prepared
from enginescope.core.record import Record, replace
from enginescope.core.sidecar import ARRAYS
from enginescope.judge.notice import Notice
from enginescope.records.run.run import Artifact, Run
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import RunRow
from enginescope.store.run_folder import DOCUMENT, size_of
from enginescope.store.run_names import changed_at, is_id
from enginescope.store.server_tokens import FOLDER
from enginescope.store.sql.quick_rows import CHUNK

#: Runs together that are kept whole; the objects of a record take several times its text.
MOST_RUN_BYTES = 32 << 20
_OF_TEXT = 4


class NotHereError(StoreError):
    """There is no such thing: nothing is wrong with the store."""


class KeptRuns:
    """Reads runs of a store and never anything beside it.

    A name that comes over the network is an id or nothing: neither a path, nor a tag, nor the
    beginning of an id. Whole runs that were asked for last are kept, and with them statistics of
    their samples.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._top = store.runs_folder.resolve()
        self._lock = threading.Lock()
        self._runs: OrderedDict[Hashable, tuple[Run, int]] = OrderedDict()
        self._size = 0

    def run(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run; `series` as for `Store.load_id`."""
        self._check(run_id)
        key = None if series is not None else self.state(run_id)
        if key is None:
            return self.store.load_id(run_id, series=series)
        with self._lock:
            if key in self._runs:
                self._runs.move_to_end(key)
                return self._runs[key][0]
        run = self.store.load_id(run_id)
        size = _size_of(self.store.runs_folder / run_id)
        with self._lock:
            if key not in self._runs:
                self._runs[key] = (run, size)
                self._size += size
            while self._size > MOST_RUN_BYTES:
                self._size -= self._runs.popitem(last=False)[1][1]
        return run

    def state(self, run_id: str) -> Hashable | None:
        """Return what differs once a run's record does; ``None``: it is not known."""
        if isinstance(self.store.place, DatabaseUrl):
            return None
        folder = self.store.runs_folder / run_id
        state = changed_at(folder / DOCUMENT, folder / ARRAYS)
        return None if state is None else (run_id, state)

    def has_file(self, run: Run, path: str) -> bool | None:
        """Whether a file that a run names is kept; ``None``: only fetching would tell."""
        if isinstance(self.store.place, DatabaseUrl):
            return None
        folder = self.store.folder_of_id(run.id)
        return _inside(folder, path) is not None

    def artifact(self, run_id: str, path: str) -> tuple[Artifact, Path]:
        """Return a file that a run names, by the path in its record."""
        run = self.run(run_id)
        for artifact in run.artifacts:
            if artifact.path == path:
                file = _inside(self.store.folder_of_id(run_id), path)
                if file is None:
                    raise NotHereError(f"{path} of run {run_id}", why="it is not in the store")
                return artifact, file
        raise NotHereError(f"run {run_id}", why="it has no such file")

    def _check(self, run_id: str) -> None:
        if not is_id(run_id) or not self.store.has(run_id):
            raise NotHereError("this run", why="no run with that id")
        if isinstance(self.store.place, DatabaseUrl):
            return
        # a link that leads out is not a run of the store
        if not (self.store.runs_folder / run_id / DOCUMENT).resolve().is_relative_to(self._top):
            raise NotHereError("this run", why="no run with that id")


def _size_of(folder: Path) -> int:
    """Return the bytes that a run takes in memory, about; one that was deleted since: any."""
    document = folder / DOCUMENT
    text = document.stat().st_size if document.exists() else 0
    return _OF_TEXT * text + (size_of(folder / ARRAYS) or 0)


def _inside(folder: Path, path: str) -> Path | None:
    """Return a file below a folder; ``None``: it is not there, or leads out."""
    try:
        file = (folder / path).resolve()
        return file if file.is_file() and file.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):  # a name that no file can have
        return None


#: Figures of runs together; what each takes by itself, and what the objects of a text take of it.
MOST_FIGURE_BYTES = 32 << 20
_FIGURE_BYTES = 1024
_MOST_PARTS = 1024
#: Figures on the disk, each of about 1 kB; beyond that the oldest go.
MOST_STORED = 30_000
_BUSY_S = 1.0
_LEVEL = 1


class ReadFigures(Record, frozen=True, kw_only=True, eq=False):
    """Figures of the runs that can be read; `notices` name the others."""

    figures: tuple[RunFigure, ...]
    notices: tuple[Notice, ...]


class KeptFigures:
    """What histories need of runs, by run and metric: a run is read once, also over restarts."""

    def __init__(self, kept: KeptRuns) -> None:
        self._kept = kept
        self._file = FigureFile(kept.store.path / FOLDER / "figures.sqlite")
        self._lock = threading.Lock()
        self._figures: OrderedDict[tuple[RunRow, str], tuple[RunFigure, int]] = OrderedDict()
        self._parts: OrderedDict[bytes, Any] = OrderedDict()
        self._size = 0

    def read(self, rows: Sequence[RunRow], metric: str) -> ReadFigures:
        """Return the figures of runs; one that cannot be read is named, and hides no other."""
        known = self._in_memory(rows, metric)
        keys = {row: self._key(row, metric) for row in rows if row not in known}
        stored = self._file.find(key for key in keys.values() if key is not None)
        computed, notices = {}, []
        for row, key in keys.items():
            figure = stored.get(key) if key is not None else None
            try:
                if figure is None:
                    run = self._kept.run(row.id, needed_series(metric))
                    figure = run_figure(run, metric)
                    if key is not None:
                        computed[key] = figure
            except (FormatError, StoreError) as error:
                message = f"run {row.id} is skipped: {error}"
                if error.hint:
                    message += f"; {error.hint}"
                notices.append(Notice(code="W-BROKEN-RUN", message=message))
            else:
                known[row] = self._keep(row, metric, figure)
        self._file.keep(computed)
        figures = tuple(known[row] for row in rows if row in known)
        return ReadFigures(figures=figures, notices=tuple(notices))

    def _in_memory(self, rows: Sequence[RunRow], metric: str) -> dict[RunRow, RunFigure]:
        figures = {}
        with self._lock:
            for row in rows:
                key = (row, metric)
                if key in self._figures:
                    self._figures.move_to_end(key)
                    figures[row] = self._figures[key][0]
        return figures

    def _key(self, row: RunRow, metric: str) -> str | None:
        """Return what differs once a figure may; ``None``: the run was changed just now."""
        state = () if isinstance(self._kept.store.place, DatabaseUrl) else self._kept.state(row.id)
        if state is None:
            return None
        return sha256(msgspec.json.encode((__version__, metric, state, row))).hexdigest()

    def _keep(self, row: RunRow, metric: str, figure: RunFigure) -> RunFigure:
        key = (row, metric)
        with self._lock:
            figure, size = self._shared(figure)
            self._size += size - self._figures.get(key, (figure, 0))[1]
            self._figures[key] = (figure, size)
            while self._size > MOST_FIGURE_BYTES:
                self._size -= self._figures.popitem(last=False)[1][1]
        return figure

    def _shared(self, figure: RunFigure) -> tuple[RunFigure, int]:
        """Return a figure that shares parts of its run with others, and the bytes it adds."""
        size, same = _FIGURE_BYTES, {}
        for name in ("job", "environment", "inputs", "tool", "build"):
            text = name.encode() + msgspec.json.encode(getattr(figure.run, name))
            if text not in self._parts:
                self._parts[text] = getattr(figure.run, name)
                size += _OF_TEXT * len(text)
            self._parts.move_to_end(text)
            same[name] = self._parts[text]
        while len(self._parts) > _MOST_PARTS:
            self._parts.popitem(last=False)
        return replace(figure, run=replace(figure.run, **same)), size


class FigureFile:
    """Figures by their keys in a SQLite file: a cache, which may go at any time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, keys: Iterable[str]) -> dict[str, RunFigure]:
        """Return the figures that are there; none where the file cannot be read."""
        wanted, figures = list(keys), {}
        if not wanted or not self._file.is_file():
            return {}
        try:
            with closing(self._opened()) as connection:
                for start in range(0, len(wanted), CHUNK):
                    some = wanted[start : start + CHUNK]
                    marks = ", ".join("?" * len(some))
                    query = f"SELECT key, data FROM figures WHERE key IN ({marks})"  # noqa: S608 - no value in it
                    for key, data in connection.execute(query, some):
                        text = zlib.decompress(data)
                        figures[key] = msgspec.json.decode(text, type=prepared(RunFigure))
        except sqlite3.OperationalError:  # another process writes it
            return {}
        except (sqlite3.Error, zlib.error, msgspec.MsgspecError, TypeError):
            self._remove()
            return {}
        return figures

    def keep(self, figures: Mapping[str, RunFigure]) -> None:
        """Write figures; where that fails they are computed again another time."""
        if not figures:
            return
        rows = [
            (key, zlib.compress(msgspec.json.encode(figure), _LEVEL))
            for key, figure in figures.items()
        ]
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._opened()) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS figures (key TEXT PRIMARY KEY, data BLOB NOT NULL)"
                )
                connection.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?)", rows)
                connection.execute(
                    "DELETE FROM figures WHERE rowid <= (SELECT max(rowid) FROM figures) - ?",
                    [MOST_STORED],
                )
        except (sqlite3.OperationalError, OSError):  # no space, or a store that cannot be written
            return
        except sqlite3.Error:
            self._remove()

    def _remove(self) -> None:
        """Remove a damaged file: the next figures begin another."""
        with suppress(OSError):
            self._file.unlink()

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=_BUSY_S)
