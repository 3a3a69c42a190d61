"""Where the rows and runs of a suite are sent while it runs: a database, or a server."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Sequence
from typing import Protocol

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.services.observer import Observer
from enginescope.services.store.push import RefusedRun, send_run, warn_if_plain
from enginescope.services.suites.request import PushTarget, SuiteRequest
from enginescope.store.archive import Store
from enginescope.store.location import DatabaseUrl
from enginescope.store.remote import RemoteStore
from enginescope.store.store_backend import SuiteShelf
from enginescope.store.suite_folder import SuiteFolder

#: Folder in a suite's folder: the runs that the database does not have yet.
OUTBOX = "outbox"


class SuiteSink(Protocol):
    """Receives the runs of a suite, and through its shelf the plan, the rows and the lease.

    Attributes:
        refused: Runs that cannot be sent at all; they stay where they are.
    """

    shelf: SuiteShelf
    refused: list[RefusedRun]

    def backlog(self) -> Sequence[str]:
        """Return the ids of runs that are to be sent, whatever their rows are."""
        ...

    def send_runs(self, ids: Iterable[str]) -> None:
        """Send runs; those that are there already are skipped.

        Raises:
            StoreError: The connection is lost, or nothing can be sent now.
        """
        ...

    def remedy(self, suite: str) -> str:
        """Return what sends the rest."""
        ...


class DatabaseSink:
    """Moves runs from an outbox on this machine to the database that is the store."""

    def __init__(self, store: Store, outbox: Store) -> None:
        self.shelf: SuiteShelf = store.suites
        self.refused: list[RefusedRun] = []
        self._store, self._outbox = store, outbox

    def __str__(self) -> str:
        """Return the database's URL without its password."""
        return f"the store {self._store.place}"

    def backlog(self) -> Sequence[str]:
        """Return all runs of the outbox; an empty outbox is deleted."""
        ids = self._outbox.ids()
        if not ids:
            shutil.rmtree(self._outbox.path, ignore_errors=True)
        return ids

    def send_runs(self, ids: Iterable[str]) -> None:
        for run_id in dict.fromkeys(ids):
            if not self._outbox.has(run_id):
                continue
            if not self._store.has(run_id):
                try:
                    run = self._outbox.load_id(run_id)
                except FormatError as error:
                    self.refused.append(RefusedRun(run=run_id, why=str(error)))
                    continue
                self._store.save(run, files_from=self._outbox.folder_of_id(run_id))
            self._outbox.delete(run_id)

    def remedy(self, suite: str) -> str:
        """Return what sends the rest."""
        return f"{self._outbox.path.parent} has the rest of {suite}; the same command sends it"


class ServerSink:
    """Copies runs of a store to a server."""

    def __init__(self, target: PushTarget, store: Store, observer: Observer) -> None:
        self.shelf: SuiteShelf
        self.shelf = self._server = RemoteStore(target.url, target.token)
        warn_if_plain(self._server, observer)
        self.refused: list[RefusedRun] = []
        self._target, self._store = target, store

    def __str__(self) -> str:
        return f"the server {self._server}"

    def backlog(self) -> Sequence[str]:
        """Return nothing: the runs that belong to no row stay here."""
        return ()

    def send_runs(self, ids: Iterable[str]) -> None:
        known = [run_id for run_id in dict.fromkeys(ids) if self._store.has(run_id)]
        with temporary_folder() as folder:
            for run_id in self._server.missing(known):
                why = send_run(self._store, self._server, run_id, folder / f"{run_id}.zip")
                if why is not None:
                    self.refused.append(RefusedRun(run=run_id, why=why))

    def remedy(self, suite: str) -> str:
        """Return the command that sends the rest."""
        words = ["enginescope", "push", self._target.url, "--suite", suite]
        words += ["--store", str(self._store.place)]
        if self._target.token_file is not None:
            words += ["--token-file", str(self._target.token_file)]
        return f"send the rest: {shlex.join(words)}"


def outbox_of(store: Store, folder: SuiteFolder) -> Store:
    """Return where a session stores its runs: a database gets them from an outbox."""
    return Store(folder.path / OUTBOX) if isinstance(store.place, DatabaseUrl) else store


def sink_for(
    request: SuiteRequest, store: Store, outbox: Store, observer: Observer
) -> SuiteSink | None:
    """Return where rows are sent; ``None``: they stay in the suite's folder.

    Raises:
        UsageError: There are two places to send them to, or the server's address cannot be used.
    """
    if request.push is None:
        return DatabaseSink(store, outbox) if outbox is not store else None
    if outbox is not store:
        raise UsageError(
            f"the store {store.place} and the server {request.push.url}",
            why="a database and a server would both get the rows",
            hint="serve the database: enginescope serve --store URL",
        )
    return ServerSink(request.push, store, observer)
