"""The store: a folder of runs, and a listing over it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from enginescope.core.errors import FormatError, StoreError, reason_of
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import replace
from enginescope.core.suggest import closest
from enginescope.judge.notice import Notice
from enginescope.store.folder_store import FolderStore, StoreBackend, SuiteShelf
from enginescope.store.location import DatabaseUrl, StorePlace, store_folder, store_place
from enginescope.store.row import Filter, RunRow
from enginescope.store.run_names import check_id, check_tag, is_id, is_tag, steps_back

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.records.suite.suite import Lease
    from enginescope.store.run_folder import ReindexReport


#: A run's own file.
_DOCUMENT = "run.json"
_SHOWN = 8


#: What a name means: the id of a run of the store, or the folder of a run elsewhere.
_Found: TypeAlias = tuple[str | None, Path | None]


class Store:
    """Runs in ``<path>/runs/<id>/``, or in a database.

    Args:
        place: Else ``$ENGINESCOPE_HOME``, else the platform's data folder. Made when first written
            to.
        index_url: SQLAlchemy's URL of a folder's index; else a SQLite file in the folder.
    """

    def __init__(self, place: StorePlace | None = None, *, index_url: str | None = None) -> None:
        self.place = store_place(place)
        #: Of this machine: engines, samples, noise floors; the runs too, unless in a database.
        self.path = store_folder(self.place)
        self._index_url = index_url

    @cached_property
    def _shelf(self) -> StoreBackend:
        if isinstance(self.place, DatabaseUrl):
            from enginescope.store.sql.database_store import DatabaseStore

            return DatabaseStore(self.place, self.path)
        return FolderStore(self.path, self._index_url)

    @property
    def runs_folder(self) -> Path:
        return self.path / "runs"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with the index and with runs so far: skipped, mended, set aside."""
        return self._shelf.notices if "_shelf" in vars(self) else ()

    def check_writable(self) -> None:
        """Raise `StoreError` unless a run can be kept: better known before measuring than after."""
        self._shelf.check_writable()

    @deferred_signals()
    def save(
        self, run: Run, *, tags: Iterable[str] = (), files_from: Path | None = None
    ) -> Path | None:
        """Write `run` and copies of its artifacts, and return its folder, if it has one.

        A reader sees the whole run or none. Neither a tag that cannot be one nor a broken index
        loses the run: notices say so.

        Args:
            files_from: What relative paths of artifacts start from; else the working directory.

        Raises:
            StoreError: The store cannot be written, has a run of that id, or the id cannot be one.
        """
        from enginescope.store.run_folder import write_run

        check_id(run.id)
        run = _tagged(run, tags)
        with self._shelf.new_part() as part:
            try:
                stored = write_run(run, part, files_from=files_from)
            except OSError as error:
                what = f"cannot store run {run.id} in {self._shelf}"
                raise StoreError(what, why=reason_of(error)) from error
            return self._shelf.place(stored, part)

    def load(self, name: str) -> Run:
        """Return a run by the beginning of its id, a tag, ``latest``, ``latest~2``, or a folder.

        Of several runs with a tag, the newest.

        Raises:
            StoreError: There is none, more than one id begins so, it was deleted while it was read,
                or a newer enginescope wrote it.
            FormatError: It is damaged.
        """
        run_id, folder = self._find(name)
        if run_id is not None:
            with _way_out_of(run_id):
                return self._shelf.read(run_id)
        return load_path(folder or Path())

    def has(self, run_id: str) -> bool:
        """Whether there is a run of just that id, damaged or not."""
        return is_id(run_id) and self._shelf.has(run_id)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all runs, damaged ones too."""
        return self._shelf.names()

    def load_id(self, run_id: str, *, series: Sequence[str] | None = None) -> Run:
        """Return the run of just that id; neither a path nor any other name will do.

        Args:
            series: As for `read_run`.

        Raises:
            StoreError: There is none, or a newer enginescope wrote it.
            FormatError: It is damaged.
        """
        self._check_has(run_id)
        with _way_out_of(run_id):
            return self._shelf.read(run_id, series)

    def folder_of_id(self, run_id: str) -> Path:
        """Return a folder with all files of the run of just that id; see `folder_of`."""
        self._check_has(run_id)
        return self._shelf.folder(run_id)

    def _check_has(self, run_id: str) -> None:
        if not self.has(run_id):
            raise StoreError(f"run {run_id!r}", why=f"no run with that id in {self._shelf}")

    def folder_of(self, name: str) -> Path:
        """Return a folder with all files of the run that `name` means, damaged or not; see `load`.

        Of a run in a database it is a copy.
        """
        run_id, folder = self._find(name)
        return folder or self._shelf.folder(run_id or "")

    def id_of(self, name: str) -> str:
        """Return the id of the run of this store that `name` means; see `load`."""
        run_id, _ = self._find(name)
        if run_id is None:
            raise StoreError(f"run {name}", why=f"it is not in the store {self._shelf}")
        return run_id

    def artifact_paths(self, name: str) -> tuple[Path, ...]:
        """Return where the files stored with a run are."""
        from enginescope.store.run_folder import artifact_paths

        return artifact_paths(self.load(name), self.folder_of(name))

    def rows(self, **fields: Any) -> tuple[RunRow, ...]:
        """Return the runs that a `Filter` of these fields selects."""
        return self.select(Filter(**fields))

    def select(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the runs that fit, the newest first; broken ones are named in `notices`."""
        if isinstance(self.place, DatabaseUrl) and "_shelf" not in vars(self):
            from enginescope.store.sql.quick_rows import quick_database_rows

            if (rows := quick_database_rows(self.place, wanted)) is not None:
                return rows
        return self._shelf.rows(wanted)

    def state(self) -> Hashable | None:
        """Return what differs once a run was added, removed or tagged; ``None``: unknown."""
        return self._shelf.state()

    def suite_home(self) -> Path:
        """Return where the folder ``suites`` is: the store's own, of a database a copy.

        Each call brings a copy up to what the database has.
        """
        return self._shelf.suite_home()

    @property
    def suites(self) -> SuiteShelf:
        """The suites of the store, as they are written."""
        return self._shelf

    def suite_lease(self, name: str) -> Lease | None:
        """Return the lease of a suite; ``None``: it is not known who runs it."""
        return self._shelf.suite_lease(name)

    def tag(self, name: str, *tags: str) -> Run:
        """Add tags to a run."""
        for tag in tags:
            check_tag(tag)
        run_id = self.id_of(name)
        with _way_out_of(run_id):
            return self._shelf.retag(run_id, add=tags)

    def untag(self, name: str, *tags: str) -> Run:
        """Take tags off a run; one it does not have is not an error."""
        run_id = self.id_of(name)
        with _way_out_of(run_id):
            return self._shelf.retag(run_id, drop=tags)

    def id_to_delete(self, name: str) -> str:
        """Return what `delete` would delete: a run, damaged or not, or an unfinished save."""
        return name if name in self._shelf.unfinished() else self.id_of(name)

    def delete(self, name: str) -> str:
        """Delete a run, damaged or unfinished too, and return its id."""
        run_id = self.id_to_delete(name)
        self._shelf.delete(run_id)
        return run_id

    def export(self, name: str, destination: Path) -> Path:
        """Write a run's folder as a zip file and return its path, which ends in ``.zip``."""
        from enginescope.store.run_folder import pack

        return pack(self.folder_of(name), destination)

    def import_zip(
        self, file: Path, *, run_id: str | None = None, most_bytes: int | None = None
    ) -> Run:
        """Store the run in a file that `export` wrote, and return it.

        Args:
            run_id: What its id must be.
            most_bytes: What its files may take when unpacked.

        Raises:
            FormatError: It is not a zip file of one run, or the run is damaged.
            StoreError: The store has a run of that id, or cannot be written.
        """
        from enginescope.store.run_folder import read_run, unpack

        with self._shelf.new_part() as part:
            unpack(file, part, most_bytes=most_bytes)
            run = read_run(part, source=str(file))
            check_id(run.id)
            if run_id is not None and run.id != run_id:
                why = f"it is {run.id!r}"
                raise FormatError(str(file), where="id", why=why, expected=repr(run_id))
            self._shelf.place(run, part)
            return run

    def reindex(self) -> ReindexReport:
        """Make the index again from the runs; damaged runs are named and left out."""
        return self._shelf.reindex()

    def _find(self, name: str) -> _Found:
        if (back := steps_back(name)) is not None:
            return self._latest(name, back), None
        if is_id(name) and self._shelf.has(name):
            return name, None
        tagged = self.rows(tag=name, limit=1) if is_tag(name) else ()
        if tagged:
            return tagged[0].id, None
        by_prefix = self._by_prefix(name)
        return (by_prefix, None) if by_prefix else self._by_path(name)

    def _latest(self, name: str, back: int) -> str:
        rows = self.rows(limit=back + 1)
        if len(rows) <= back:
            why = f"the store {self._shelf} has {len(rows)} runs"
            hint = "enginescope bench MODEL.onnx, or enginescope import PATH"
            raise StoreError(f"run {name!r}", why=why, hint=hint)
        return rows[back].id

    def _by_prefix(self, name: str) -> str | None:
        fitting = [one for one in self._shelf.names() if name and one.startswith(name)]
        if len(fitting) > 1:
            more = ", …" if len(fitting) > _SHOWN else ""
            why = f"{len(fitting)} runs begin with it: {', '.join(fitting[:_SHOWN])}{more}"
            raise StoreError(f"run {name!r}", why=why, hint="give more of the id")
        return fitting[0] if fitting else None

    def _by_path(self, name: str) -> _Found:
        folder = _folder_in(Path(name))
        if not name or not (folder / _DOCUMENT).is_file():
            tags = {tag for row in self.rows() for tag in row.tags}
            near = closest(name, {one[: len(name)] for one in self._shelf.names()} | tags)
            hint = f"did you mean {near}?" if near else "enginescope runs lists them"
            raise StoreError(f"run {name!r}", why=f"there is none in {self._shelf}", hint=hint)
        resolved = folder.resolve()
        return self._shelf.id_at(resolved), resolved


def load_path(path: Path) -> Run:
    """Return a run from its folder or its ``run.json``, in a store or not.

    Raises:
        FormatError: There is none, or it is damaged.
        StoreError: It was written by a newer enginescope.
    """
    from enginescope.store.run_folder import read_run

    try:
        return read_run(_folder_in(path))
    except FormatError as error:
        raise error.with_hint("copy the run's folder again from its source") from error


@contextmanager
def _way_out_of(run_id: str) -> Iterator[None]:
    """Say of a stored run that is damaged what to do about it."""
    try:
        yield
    except FormatError as error:
        way_out = f"enginescope runs delete {run_id} removes it from the store"
        raise error.with_hint(way_out) from error


def _folder_in(path: Path) -> Path:
    return path.parent if path.name == _DOCUMENT else path


def _tagged(run: Run, tags: Iterable[str]) -> Run:
    asked = tuple(dict.fromkeys(tags))
    refused = [tag for tag in asked if not is_tag(tag)]
    notices = run.notices
    if refused:
        message = f"Skipped, not valid as tags: {', '.join(map(repr, refused))}."
        notices += (Notice(code="W-TAG", message=message, evidence={"tags": refused}),)
    kept = tuple(dict.fromkeys((*run.tags, *(tag for tag in asked if is_tag(tag)))))
    return replace(run, tags=kept, notices=notices)


class RunKeeper:
    """Stores runs, and remembers those that the store could not take."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lost: list[Run] = []
        self._why = ""

    def keep(self, run: Run, tags: Sequence[str] = ()) -> None:
        """Store a run; never raises for a store that cannot be written."""
        try:
            self._store.save(run, tags=tags)
        except (StoreError, OSError) as error:
            why = error.why or str(error) if isinstance(error, StoreError) else reason_of(error)
            self._why = why
            self._lost.append(run)

    def stored(self, run: Run) -> Run:
        """Return the run as it is in the store; one that is not there as it was measured."""
        return run if run in self._lost else self._store.load(run.id)

    @property
    def lost(self) -> tuple[Run, ...]:
        return tuple(self._lost)

    @property
    def message(self) -> str | None:
        """What was not stored, where and why, and the next step; ``None``: all runs are stored."""
        if not self._lost:
            return None
        count = "1 run was" if len(self._lost) == 1 else f"{len(self._lost)} runs were"
        ids = ", ".join(one.id for one in self._lost[:3]) + (" …" if len(self._lost) > 3 else "")
        return (
            f"{count} measured but not stored in {self._store.path} ({ids}): {self._why}; "
            "the figures above are complete; make space or name another store, and run it again"
        )
