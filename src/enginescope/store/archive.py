"""The store: a folder of runs, and an index over it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.record import Record
from enginescope.core.suggest import closest
from enginescope.model.run import Run
from enginescope.store.location import store_folder
from enginescope.store.row import RunRow, row_of
from enginescope.store.run_folder import DOCUMENT, read_run, rewrite, write_run

if TYPE_CHECKING:
    from enginescope.store.index import Filter, Index

_PART = ".part-"


class Broken(Record, frozen=True, kw_only=True):
    """A run folder that cannot be read."""

    name: str
    reason: str


class ReindexReport(Record, frozen=True, kw_only=True):
    """What `Store.reindex` found."""

    indexed: int
    broken: tuple[Broken, ...] = ()


class Store:
    """Runs in ``<path>/runs/<id>/``.

    Parameters
    ----------
    path : Path, optional
        Else ``$ENGINESCOPE_HOME``, else the platform's data folder. Made when first written to.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = store_folder(path)

    @property
    def runs_folder(self) -> Path:
        """Where the runs are."""
        return self.path / "runs"

    def save(self, run: Run, *, tags: Iterable[str] = ()) -> Path:
        """Write `run` and copies of its artefacts, and return its folder.

        A reader sees the whole run or none: it is written beside its place and renamed.

        Raises
        ------
        StoreError
            The store cannot be written, or has a run of that id.
        """
        run = msgspec.structs.replace(run, tags=tuple(dict.fromkeys((*run.tags, *tags))))
        folder = self.runs_folder / run.id
        part = self.runs_folder / f"{_PART}{run.id}-{secrets.token_hex(4)}"
        try:
            part.mkdir(parents=True)
            stored = write_run(run, part)
            part.rename(folder)
        except OSError as error:
            reason = "there is a run of that id" if folder.exists() else str(error)
            raise StoreError(f"cannot store run {run.id} in {self.path}", why=reason) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self._index.put([row_of(stored)])
        return folder

    def load(self, name: str) -> Run:
        """Return a run by the beginning of its id, a tag, ``latest``, ``latest~2``, or a folder.

        Raises
        ------
        StoreError
            There is none, or more than one id begins so.
        FormatError
            It is damaged.
        """
        return read_run(self.folder_of(name))

    def folder_of(self, name: str) -> Path:
        """Return the folder of the run that `name` means; see `load`."""
        if name == "latest" or name.startswith("latest~"):
            return self._latest(name)
        ids = sorted(self._ids())
        if name in ids:
            return self.runs_folder / name
        fitting = [one for one in ids if one.startswith(name)] if name else []
        if len(fitting) == 1:
            return self.runs_folder / fitting[0]
        if len(fitting) > 1:
            shown = ", ".join(fitting[:8])
            raise StoreError(f"run {name!r}", why=f"{len(fitting)} runs begin so: {shown}")
        tagged = self.rows(tag=name)
        if tagged:
            return self.runs_folder / tagged[0].id
        if (Path(name) / DOCUMENT).is_file() or Path(name).name == DOCUMENT:
            return _folder_in(Path(name))
        raise self._unknown(name, ids)

    def rows(
        self,
        *,
        tag: str | None = None,
        model: str | None = None,
        backend: str | None = None,
        outcome: str | None = None,
        limit: int | None = None,
    ) -> tuple[RunRow, ...]:
        """Return the runs that fit, the newest first; read from the index."""
        if not self.runs_folder.is_dir():
            return ()
        from enginescope.store.index import Filter

        wanted: Filter = Filter(tag=tag, model=model, backend=backend, outcome=outcome, limit=limit)
        return self._index.rows(wanted)

    def tag(self, name: str, *tags: str) -> Run:
        """Add tags to a run."""
        folder = self.folder_of(name)
        run = read_run(folder)
        return self._retag(folder, (*run.tags, *tags))

    def untag(self, name: str, *tags: str) -> Run:
        """Take tags off a run."""
        folder = self.folder_of(name)
        run = read_run(folder)
        return self._retag(folder, tuple(tag for tag in run.tags if tag not in tags))

    def delete(self, name: str) -> str:
        """Delete a run, damaged or not, and return its id."""
        folder = self.folder_of(name)
        if folder.parent != self.runs_folder:
            raise StoreError(f"run {name}", why=f"it is not in the store {self.path}")
        # renamed first, so that nobody reads half a run
        doomed = self.runs_folder / f"{_PART}deleted-{secrets.token_hex(4)}"
        try:
            folder.rename(doomed)
        except OSError as error:
            raise StoreError(f"cannot delete run {folder.name}", why=str(error)) from error
        shutil.rmtree(doomed, ignore_errors=True)
        self._index.remove(folder.name)
        return folder.name

    def export(self, name: str, destination: Path) -> Path:
        """Write a run's folder as a zip file and return its path."""
        folder = self.folder_of(name)
        base = destination.with_suffix("") if destination.suffix == ".zip" else destination
        try:
            written = shutil.make_archive(str(base), "zip", folder.parent, folder.name)
        except OSError as error:
            raise StoreError(f"cannot write {destination}", why=str(error)) from error
        return Path(written)

    def reindex(self) -> ReindexReport:
        """Make the index again from the folders; damaged runs are named and left out."""
        rows, broken = [], []
        for run_id in sorted(self._ids()):
            try:
                rows.append(row_of(read_run(self.runs_folder / run_id)))
            except (FormatError, StoreError) as error:
                broken.append(Broken(name=run_id, reason=str(error)))
        self._index.clear()
        self._index.put(rows)
        return ReindexReport(indexed=len(rows), broken=tuple(broken))

    @cached_property
    def _index(self) -> Index:
        """The index, made if it is not there, set aside and made again if it is damaged."""
        from enginescope.store.index import Index

        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / "index.sqlite"
        index = Index.in_folder(self.path)
        try:
            is_fresh = index.prepare()
        except StoreError:
            index.close()
            file.replace(file.with_suffix(f".damaged-{secrets.token_hex(3)}"))
            index = Index.in_folder(self.path)
            is_fresh = index.prepare()
        if is_fresh:
            index.put(self._readable_rows())
        return index

    def _readable_rows(self) -> Iterator[RunRow]:
        for run_id in sorted(self._ids()):
            try:
                yield row_of(read_run(self.runs_folder / run_id))
            except (FormatError, StoreError):  # `reindex` names them
                continue

    def _ids(self) -> list[str]:
        if not self.runs_folder.is_dir():
            return []
        return [
            one.name
            for one in self.runs_folder.iterdir()
            if one.is_dir() and not one.name.startswith(".")
        ]

    def _latest(self, name: str) -> Path:
        back = name.removeprefix("latest").removeprefix("~") or "0"
        if not back.isdigit():
            raise StoreError(f"run {name!r}", hint="latest, latest~1, latest~2 …")
        rows = self.rows(limit=int(back) + 1)
        if len(rows) <= int(back):
            raise StoreError(
                f"run {name!r}",
                why=f"the store {self.path} has {len(rows)} runs",
                hint="enginescope bench MODEL.onnx, or enginescope import PATH",
            )
        return self.runs_folder / rows[int(back)].id

    def _retag(self, folder: Path, tags: tuple[str, ...]) -> Run:
        run = rewrite(folder, tags=tuple(dict.fromkeys(tags)))
        if folder.parent == self.runs_folder:
            self._index.put([row_of(run)])
        return run

    def _unknown(self, name: str, ids: list[str]) -> StoreError:
        near = closest(name, ids)
        hint = f"did you mean {near}?" if near else "enginescope runs lists them"
        return StoreError(f"run {name!r}", why=f"there is none in {self.path}", hint=hint)


def load_path(path: Path) -> Run:
    """Return a run from its folder or its ``run.json``, in a store or not.

    Raises
    ------
    FormatError
        There is none, or it is damaged.
    StoreError
        It was written by a newer enginescope.
    """
    return read_run(_folder_in(path))


def _folder_in(path: Path) -> Path:
    return path.parent if path.name == DOCUMENT else path
