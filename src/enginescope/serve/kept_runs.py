"""The runs of a store as strangers may ask for them: by whole ids, and files by their names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from pathlib import Path

from enginescope.core.errors import StoreError
from enginescope.core.sidecar import ARRAYS
from enginescope.records.run.run import Artifact, Run
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.run_folder import DOCUMENT, size_of
from enginescope.store.run_names import changed_at, is_id

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
        """Return a run; `series` as for `Store.load_id`.

        Raises:
            NotHereError: There is none of that id.
            FormatError: It is damaged.
        """
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
        """Return a file that a run names, by the path in its record.

        Raises:
            NotHereError: There is no such run, it names no such file, or the file lies elsewhere.
        """
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
