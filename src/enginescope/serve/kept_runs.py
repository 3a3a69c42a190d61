"""The runs of a store as strangers may ask for them: by whole ids, and files by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import StoreError
from enginescope.records.run.run import Artifact, Run
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.run_folder import DOCUMENT
from enginescope.store.run_names import is_id


class NotHereError(StoreError):
    """There is no such thing: nothing is wrong with the store."""


class KeptRuns:
    """Reads runs of a store and never anything beside it.

    A name that comes over the network is an id or nothing: neither a path, nor a tag, nor the
    beginning of an id.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, run_id: str, series: Sequence[str] | None = None) -> Run:
        """Return a run; `series` as for `Store.load_id`.

        Raises:
            NotHereError: There is none of that id.
            FormatError: It is damaged.
        """
        self._check(run_id)
        return self.store.load_id(run_id, series=series)

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
        top = self.store.runs_folder.resolve()
        folder = self.store.runs_folder / run_id
        for one in (folder, folder / DOCUMENT):  # a link that leads out is not a run of the store
            if not one.resolve().is_relative_to(top):
                raise NotHereError("this run", why="no run with that id")


def _inside(folder: Path, path: str) -> Path | None:
    """Return a file below a folder; ``None``: it is not there, or leads out."""
    try:
        file = (folder / path).resolve()
        return file if file.is_file() and file.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):  # a name that no file can have
        return None
