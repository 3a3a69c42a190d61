"""The index of a store, repaired from the folders of runs where they differ from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from enginescope.core.errors import StoreError
from enginescope.judge.notice import Notice
from enginescope.store.row import Filter, RunRow, row_of, select
from enginescope.store.run_names import PART, changed_at, run_names
from enginescope.store.sql.quick_rows import quick_add, quick_rows
from enginescope.store.sql.sqlite_file import FILE, DamagedIndexError

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.store.run_folder import Broken, ReindexReport, Scan
    from enginescope.store.sql.database import Index

T = TypeVar("T")

#: Its presence says that a change did not reach the index.
_STALE = "index.stale"
_BROKEN_RUN = "W-BROKEN-RUN"
#: More broken runs are one notice with their count.
_MOST_NAMED = 3


class RepairedIndex:
    """Rows of the runs in ``<store>/runs``, by an index that is repaired from them.

    Args:
        index_url: SQLAlchemy's URL of the index; else the SQLite file in the store.
    """

    def __init__(self, store: Path, index_url: str | None = None) -> None:
        self._store = store
        self._runs = store / "runs"
        self._url = index_url
        self._notices: dict[str, Notice] = {}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was wrong with the index and with runs so far, each once."""
        return tuple(self._notices.values())

    def add(self, run: Run) -> None:
        """Take up a run that was saved; an index that cannot be written waits."""
        row = self._row(run)
        if self._url is not None or not quick_add(self._store / FILE, row):
            self._change(lambda index: index.add([row]))

    def put(self, run: Run) -> None:
        """Take up a run that was changed, while the lock on ``runs`` is held."""
        row = self._row(run)
        self._change(lambda index: index.put([row]))

    def remove(self, run_id: str) -> None:
        self._change(lambda index: index.remove([run_id]))

    def rows(self, wanted: Filter) -> tuple[RunRow, ...]:
        """Return the rows that fit, the newest first.

        Runs that the index lacks are taken up, those that are gone are dropped. If it cannot be
        used at all, the folders are read instead: slower, and as right.
        """
        if not (names := run_names(self._runs)):
            self._name_broken(())
            return ()
        if self._url is None and not (self._store / _STALE).exists():
            rows = quick_rows(self._store / FILE, names, wanted)
            if rows is not None:
                self._name_broken(())
                return rows
        try:
            return self._with_index(lambda index: self._mended(index, names).rows(wanted))
        except StoreError as error:
            self._say("W-INDEX", f"The index cannot be used ({error}); the folders were read.")
            found = self._scan(names)
            self._name_broken(found.broken)
            return select(list(found.rows), wanted)

    def state(self) -> Hashable | None:
        """Return when the folder of runs and the index changed last, as `Store.state` says."""
        if self._url is not None:
            return None
        index = self._store / FILE
        return changed_at(self._runs, index, index.with_name(f"{FILE}-wal"), self._store / _STALE)

    def rebuild(self) -> ReindexReport:
        """Make the index again from the folders; damaged runs are named and left out.

        The lock on ``runs`` is held by the caller.
        """
        from enginescope.store.run_folder import Broken, ReindexReport

        found = self._scan(run_names(self._runs))
        unfinished = tuple(
            Broken(name=name, reason="a save that was cut off, or is still going on")
            for name in run_names(self._runs, PART)
        )
        try:
            self._with_index(lambda index: index.replace(found.rows))
        except StoreError:  # a newer or a locked one: asked for by name, so ours takes its place
            self._index.set_aside(in_any_case=True)
            self._with_index(lambda index: index.replace(found.rows))
        (self._store / _STALE).unlink(missing_ok=True)
        return ReindexReport(indexed=len(found.rows), broken=(*found.broken, *unfinished))

    @cached_property
    def _index(self) -> Index:
        from enginescope.store.sql.database import Index

        return Index(self._url) if self._url else Index.in_folder(self._store)

    def _scan(self, names: Iterable[str]) -> Scan:
        from enginescope.store import run_folder

        return run_folder.scan(self._runs, names)

    def _row(self, run: Run) -> RunRow:
        from enginescope.store.run_folder import size_of

        return row_of(run, size_bytes=size_of(self._runs / run.id))

    def _with_index(self, action: Callable[[Index], T]) -> T:
        # in any case: damage that a look at the whole file does not find
        for in_any_case in (False, True):
            try:
                self._index.prepare()
                return action(self._index)
            except DamagedIndexError as error:
                message = f"The index was damaged ({error.why}) and is made again."
                self._say("W-INDEX-DAMAGED", message)
                self._index.set_aside(in_any_case=in_any_case)
        self._index.prepare()
        return action(self._index)

    def _mended(self, index: Index, names: tuple[str, ...]) -> Index:
        stale = self._store / _STALE
        if stale.exists():
            index.replace(())
            stale.unlink(missing_ok=True)  # before the scan: a later change marks it again
        known = index.ids()
        if gone := known.difference(names):
            index.remove(gone)
        found = self._scan([name for name in names if name not in known])
        if found.rows:
            index.add(found.rows)
        self._name_broken(found.broken)
        return index

    def _change(self, action: Callable[[Index], None]) -> None:
        """Change the index; the folders are written already, so it may lag behind."""
        try:
            self._with_index(action)
        except StoreError as error:
            self._say("W-INDEX", f"The index could not be written ({error}); it is made again.")
            with suppress(OSError):  # then only changed tags lag behind, until `rebuild`
                (self._store / _STALE).touch()

    def _name_broken(self, broken: tuple[Broken, ...]) -> None:
        """Name the runs that are broken now, and none that was before: a server lists for weeks."""
        messages = {run.name: f"Run {run.name} was skipped: {run.reason}." for run in broken}
        if len(broken) > _MOST_NAMED:
            first = broken[0]
            message = (
                f"{len(broken):,} runs were skipped; the first is {first.name}: {first.reason}. "
                "enginescope runs reindex --json names all."
            )
            messages = {_BROKEN_RUN: message}
        self._notices = {
            key: notice for key, notice in self._notices.items() if notice.code != _BROKEN_RUN
        } | {key: Notice(code=_BROKEN_RUN, message=text) for key, text in messages.items()}

    def _say(self, code: str, message: str) -> None:
        """Say what is wrong with the index: of each kind the last, as the paths in it change."""
        self._notices[code] = Notice(code=code, message=message)
