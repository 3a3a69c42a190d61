"""The runs of a store as strangers may ask for them: by whole ids, and files by their names.

Also figures of runs that histories are made of, in memory and on the disk.
"""

import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from enginescope._version import __version__
from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.verdicts.history import RunFigure, needed_series, run_figure
from enginescope.core.errors import FormatError, StoreError
from enginescope.core.jsonio import prepared
from enginescope.core.record import Record, replace
from enginescope.core.sidecar import ARRAYS
from enginescope.judge.notice import Notice
from enginescope.records.notice import is_unstable
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


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """The values that were asked for last, as many as take so many bytes together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, size: int, most: int) -> None:
        """Keep a value of `size` bytes, and forget others until all take `most` or fewer."""
        with self._lock:
            self.size += size - (self._values.pop(key)[1] if key in self._values else 0)
            self._values[key] = (value, size)
            while self.size > most:
                self.size -= self._values.popitem(last=False)[1][1]


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
        self._runs: SizedCache[Hashable, Run] = SizedCache()

    def run(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run; `series` as for `Store.load_id`."""
        self._check(run_id)
        key = None if series is not None else self.state(run_id)
        if key is None:
            return self.store.load_id(run_id, series=series)
        if (run := self._runs.get(key)) is None:
            run = self.store.load_id(run_id)
            folder = self.store.runs_folder / run_id
            text = folder / DOCUMENT
            size = _OF_TEXT * (text.stat().st_size if text.exists() else 0)  # it may be gone by now
            self._runs.put(key, run, size + (size_of(folder / ARRAYS) or 0), MOST_RUN_BYTES)
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
        return _inside(self.store.folder_of_id(run.id), path) is not None

    def artifact(self, run_id: str, path: str) -> tuple[Artifact, Path]:
        """Return a file that a run names, by the path in its record."""
        run = self.run(run_id)
        for artifact in run.artifacts:
            if artifact.path == path:
                if (file := _inside(self.store.folder_of_id(run_id), path)) is None:
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


def _inside(folder: Path, path: str) -> Path | None:
    try:
        file = (folder / path).resolve()
        return file if file.is_file() and file.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):  # a name that no file can have
        return None


#: Runs whose warnings are kept, and how many are read at once however long that takes.
_MOST_WARNED, _READ_AT_ONCE = 20_000, 8


class Warnings(Record, frozen=True, kw_only=True):
    """Warnings that the page of a run shows; `is_unstable` if one makes its figures worthless.

    Attributes:
        half_width_pct: Of the 95 % interval of the run's median, in percent of it.
    """

    texts: tuple[str, ...] = ()
    is_unstable: bool = False
    half_width_pct: float | None = None


def warnings_of(notices: Iterable[Notice]) -> Warnings:
    """Return the warnings among notices, each code once."""
    found = {one.code: one for one in notices if one.level == "warning"}
    texts = tuple(f"{one.message} ({code})" for code, one in found.items())
    return Warnings(texts=texts, is_unstable=any(map(is_unstable, found.values())))


class KeptWarnings:
    """Warnings about runs, which need their samples: a run is read once."""

    def __init__(self, kept: KeptRuns) -> None:
        self._kept = kept
        self._known: OrderedDict[RunRow, Warnings] = OrderedDict()

    def read(self, rows: Sequence[RunRow], limit_s: float) -> dict[str, Warnings]:
        """Return the warnings about runs by their ids, of as many as can be read in time."""
        end, broken = time.monotonic() + limit_s, {}
        for at, row in enumerate(one for one in rows if one not in self._known):
            if at >= _READ_AT_ONCE and time.monotonic() >= end:
                break
            try:
                view = RunView(self._kept.run(row.id))
                interval = view.latency.median_interval if view.latency else None
                width_pct = interval.half_width_pct if interval else None
                self._known[row] = replace(warnings_of(view.notices), half_width_pct=width_pct)
            except (FormatError, StoreError) as error:
                broken[row.id] = Warnings(texts=(f"{error} (W-BROKEN-RUN)",), is_unstable=True)
        while len(self._known) > _MOST_WARNED:
            self._known.popitem(last=False)
        return broken | {row.id: self._known[row] for row in rows if row in self._known}


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
        self._figures: SizedCache[tuple[RunRow, str], RunFigure] = SizedCache()
        self._lock = threading.Lock()
        self._parts: OrderedDict[bytes, Any] = OrderedDict()

    def read(self, rows: Sequence[RunRow], metric: str) -> ReadFigures:
        """Return the figures of runs; one that cannot be read is named, and hides no other."""
        asked = ((row, self._figures.get((row, metric))) for row in rows)
        known = {row: figure for row, figure in asked if figure is not None}
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
                hint = f"; {error.hint}" if error.hint else ""
                notices.append(Notice("W-BROKEN-RUN", f"run {row.id} is skipped: {error}{hint}"))
            else:
                with self._lock:
                    known[row], size = self._shared(figure)
                self._figures.put((row, metric), known[row], size, MOST_FIGURE_BYTES)
        self._file.keep(computed)
        figures = tuple(known[row] for row in rows if row in known)
        return ReadFigures(figures=figures, notices=tuple(notices))

    def _key(self, row: RunRow, metric: str) -> str | None:
        """Return what differs once a figure may; ``None``: the run was changed just now."""
        state = () if isinstance(self._kept.store.place, DatabaseUrl) else self._kept.state(row.id)
        if state is None:
            return None
        return sha256(msgspec.json.encode((__version__, metric, state, row))).hexdigest()

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
        with suppress(OSError):
            self._file.unlink()

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=_BUSY_S)
