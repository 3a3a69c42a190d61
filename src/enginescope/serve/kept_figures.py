"""Figures of runs that histories are made of, kept in memory and on the disk."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
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
from enginescope.judge.notice import Notice
from enginescope.serve.kept_runs import KeptRuns
from enginescope.store.location import DatabaseUrl
from enginescope.store.row import RunRow
from enginescope.store.server_tokens import FOLDER
from enginescope.store.sql.quick_rows import CHUNK

#: Figures of runs together; what each takes by itself, and what the objects of a text take of it.
MOST_FIGURE_BYTES = 32 << 20
_FIGURE_BYTES = 1024
_OF_TEXT = 4
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
