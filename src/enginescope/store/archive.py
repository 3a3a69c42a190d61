"""The store: a folder of runs, and a listing over it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from enginescope.core.errors import StoreError
from enginescope.core.suggest import closest
from enginescope.model.notice import Notice
from enginescope.model.run import Run
from enginescope.store.listing import Listing, ReindexReport
from enginescope.store.location import store_folder
from enginescope.store.lock import locked
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_folder import DOCUMENT, artifact_paths, read_run, rewrite, write_run
from enginescope.store.run_name import check_id, check_tag, is_id, is_tag, steps_back
from enginescope.store.scan import DELETED, PART, read_named, run_names
from enginescope.store.zip_file import pack, unpack

_SHOWN = 8


class Store:
    """Runs in ``<path>/runs/<id>/``.

    Parameters
    ----------
    path : Path, optional
        Else ``$ENGINESCOPE_HOME``, else the platform's data folder. Made when first written to.
    index_url : str, optional
        SQLAlchemy's URL of the index; else a SQLite file in the store.
    """

    def __init__(self, path: Path | None = None, *, index_url: str | None = None) -> None:
        self.path = store_folder(path)
        self._listing = Listing(self.path, index_url)

    @property
    def runs_folder(self) -> Path:
        """Where the runs are."""
        return self.path / "runs"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with the index and with runs so far: skipped, mended, set aside."""
        return self._listing.notices

    def save(self, run: Run, *, tags: Iterable[str] = (), files_from: Path | None = None) -> Path:
        """Write `run` and copies of its artefacts, and return its folder.

        A reader sees the whole run or none: it is written beside its place and renamed. Neither a
        tag that cannot be one nor a broken index loses the run: notices say so.

        Parameters
        ----------
        files_from : Path, optional
            What relative paths of artefacts start from; else the working directory.

        Raises
        ------
        StoreError
            The store cannot be written, has a run of that id, or the id cannot be one.
        """
        check_id(run.id)
        run = _tagged(run, tags)
        part = self._new_folder(PART)
        try:
            stored = write_run(run, part, files_from=files_from)
            return self._place(stored, part)
        except OSError as error:
            raise StoreError(f"cannot store run {run.id} in {self.path}", why=str(error)) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def load(self, name: str) -> Run:
        """Return a run by the beginning of its id, a tag, ``latest``, ``latest~2``, or a folder.

        Of several runs with a tag, the newest.

        Raises
        ------
        StoreError
            There is none, more than one id begins so, it was deleted while it was read, or a
            newer enginescope wrote it.
        FormatError
            It is damaged.
        """
        folder = self.folder_of(name)
        return read_named(folder) if folder.parent == self.runs_folder else read_run(folder)

    def folder_of(self, name: str) -> Path:
        """Return the folder of the run that `name` means, damaged or not; see `load`."""
        back = steps_back(name)
        if back is not None:
            return self._latest(name, back)
        if is_id(name) and (self.runs_folder / name).is_dir():
            return self.runs_folder / name
        tagged = self.rows(tag=name, limit=1) if is_tag(name) else ()
        if tagged:
            return self.runs_folder / tagged[0].id
        return self._by_prefix(name) or self._by_path(name)

    def id_of(self, name: str) -> str:
        """Return the id of the run of this store that `name` means; see `load`.

        Raises
        ------
        StoreError
            There is none, or it lies elsewhere.
        """
        folder = self.folder_of(name)
        if folder.parent != self.runs_folder:
            raise StoreError(f"run {name}", why=f"it is not in the store {self.path}")
        return folder.name

    def artifact_paths(self, name: str) -> tuple[Path, ...]:
        """Return where the files stored with a run are."""
        folder = self.folder_of(name)
        return artifact_paths(self.load(name), folder)

    def rows(
        self,
        *,
        tag: str | None = None,
        model: str | None = None,
        backend: str | None = None,
        outcome: str | None = None,
        limit: int | None = None,
    ) -> tuple[RunRow, ...]:
        """Return the runs that fit, the newest first; what each argument means: see `Filter`.

        Broken runs are skipped and named in `notices`.
        """
        wanted = Filter(tag=tag, model=model, backend=backend, outcome=outcome, limit=limit)
        return self._listing.rows(wanted)

    def tag(self, name: str, *tags: str) -> Run:
        """Add tags to a run.

        Raises
        ------
        StoreError
            There is no such run in the store, or that cannot be a tag.
        """
        for one in tags:
            check_tag(one)
        return self._retag(self.id_of(name), add=tags)

    def untag(self, name: str, *tags: str) -> Run:
        """Take tags off a run; one it does not have is no error."""
        return self._retag(self.id_of(name), drop=tags)

    def id_to_delete(self, name: str) -> str:
        """Return what `delete` would delete: a run, damaged or not, or an unfinished save."""
        return name if name in run_names(self.runs_folder, PART) else self.id_of(name)

    def delete(self, name: str) -> str:
        """Delete a run, damaged or unfinished too, and return its id."""
        run_id = self.id_to_delete(name)
        # renamed first, so that nobody reads half a run
        doomed = self.runs_folder / f"{DELETED}{secrets.token_hex(4)}"
        try:
            (self.runs_folder / run_id).rename(doomed)
        except OSError as error:
            raise StoreError(f"cannot delete run {run_id}", why=error.strerror) from error
        shutil.rmtree(doomed, ignore_errors=True)
        self._listing.remove(run_id)
        return run_id

    def export(self, name: str, destination: Path) -> Path:
        """Write a run's folder as a zip file and return its path, which ends in ``.zip``."""
        return pack(self.folder_of(name), destination)

    def import_zip(self, file: Path) -> Run:
        """Store the run in a file that `export` wrote, and return it.

        Raises
        ------
        FormatError
            It is no zip file of one run, or the run is damaged.
        StoreError
            The store has a run of that id, or cannot be written.
        """
        part = self._new_folder(PART)
        try:
            unpack(file, part)
            run = read_run(part, source=str(file))
            check_id(run.id)
            self._place(run, part)
            return run
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def reindex(self) -> ReindexReport:
        """Make the index again from the folders; damaged runs are named and left out."""
        for name in run_names(self.runs_folder, DELETED):  # left by a delete that was cut off
            shutil.rmtree(self.runs_folder / name, ignore_errors=True)
        with locked(self.path, "runs"):
            return self._listing.rebuild()

    def _new_folder(self, prefix: str) -> Path:
        folder = self.runs_folder / f"{prefix}{secrets.token_hex(6)}"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"cannot write to the store {self.path}", why=str(error)) from error
        return folder

    def _place(self, run: Run, part: Path) -> Path:
        folder = self.runs_folder / run.id
        try:
            part.rename(folder)
        except OSError as error:
            reason = "there is a run of that id" if folder.exists() else str(error)
            raise StoreError(f"cannot store run {run.id} in {self.path}", why=reason) from error
        self._listing.add(run)
        return folder

    def _latest(self, name: str, back: int) -> Path:
        rows = self.rows(limit=back + 1)
        if len(rows) <= back:
            raise StoreError(
                f"run {name!r}",
                why=f"the store {self.path} has {len(rows)} runs",
                hint="enginescope bench MODEL.onnx, or enginescope import PATH",
            )
        return self.runs_folder / rows[back].id

    def _by_prefix(self, name: str) -> Path | None:
        fitting = [one for one in run_names(self.runs_folder) if name and one.startswith(name)]
        if len(fitting) > 1:
            more = ", …" if len(fitting) > _SHOWN else ""
            raise StoreError(
                f"run {name!r}",
                why=f"{len(fitting)} runs begin so: {', '.join(fitting[:_SHOWN])}{more}",
                hint="give more of the id",
            )
        return self.runs_folder / fitting[0] if fitting else None

    def _by_path(self, name: str) -> Path:
        folder = _folder_in(Path(name))
        if not name or not (folder / DOCUMENT).is_file():
            raise self._unknown(name)
        return folder.resolve()

    def _retag(self, run_id: str, *, add: Iterable[str] = (), drop: Iterable[str] = ()) -> Run:
        folder = self.runs_folder / run_id
        dropped = set(drop)
        with locked(self.path, "runs"):  # two that read before either writes would lose a tag
            old = read_named(folder).tags
            tags = tuple(one for one in dict.fromkeys((*old, *add)) if one not in dropped)
            run = rewrite(folder, tags=tags)
            self._listing.put(run)
        return run

    def _unknown(self, name: str) -> StoreError:
        tags = {tag for row in self.rows() for tag in row.tags}
        near = closest(name, {one[: len(name)] for one in run_names(self.runs_folder)} | tags)
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


def _tagged(run: Run, tags: Iterable[str]) -> Run:
    asked = tuple(dict.fromkeys(tags))
    refused = [tag for tag in asked if not is_tag(tag)]
    notices = run.notices
    if refused:
        message = f"Not tags, and left out: {', '.join(map(repr, refused))}."
        notices += (Notice(code="W-TAG", message=message, evidence={"tags": refused}),)
    kept = tuple(dict.fromkeys((*run.tags, *(tag for tag in asked if is_tag(tag)))))
    return msgspec.structs.replace(run, tags=kept, notices=notices)
