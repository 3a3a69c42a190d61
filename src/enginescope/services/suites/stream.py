"""Send the rows and runs of a suite while it runs: measuring waits for no connection."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from enginescope.core.errors import EnginescopeError, FormatError, StoreError, UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import CellRow, Claim, SuiteChange, SuitePlan
from enginescope.services.observer import Observer
from enginescope.services.store.export_runs import RefusedRun, send_run, warn_if_plain
from enginescope.services.suites.request import PushTarget, SuiteObserver, SuiteRequest
from enginescope.store.archive import Store
from enginescope.store.folder_store import SuiteShelf
from enginescope.store.location import DatabaseUrl
from enginescope.store.remote import RemoteStore, UnreachableError
from enginescope.store.suite_folder import SuiteFolder, SuiteRunsError


class SuiteSink(Protocol):
    """Receives the runs of a suite, and through its shelf the plan, the rows and the lease.

    Runs that cannot be sent at all (`refused`) stay where they are.
    """

    shelf: SuiteShelf
    refused: list[RefusedRun]

    def backlog(self) -> Sequence[str]:
        """Return the ids of runs that are to be sent, whatever their rows are."""

    def send_runs(self, ids: Iterable[str]) -> None:
        """Send runs; those that are there already are skipped."""

    def remedy(self, suite: str) -> str:
        """Return what sends the rest."""


class DatabaseSink:
    """Moves runs from an outbox on this machine to the database that is the store."""

    def __init__(self, store: Store, outbox: Store) -> None:
        self.shelf: SuiteShelf = store.suites
        self.refused: list[RefusedRun] = []
        self._store, self._outbox = store, outbox

    def __str__(self) -> str:
        return f"the store {self._store.place}"

    def backlog(self) -> Sequence[str]:
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
        return ()

    def send_runs(self, ids: Iterable[str]) -> None:
        known = [run_id for run_id in dict.fromkeys(ids) if self._store.has(run_id)]
        with temporary_folder() as folder:
            for run_id in self._server.missing(known):
                why = send_run(self._store, self._server, run_id, folder / f"{run_id}.zip")
                if why is not None:
                    self.refused.append(RefusedRun(run=run_id, why=why))

    def remedy(self, suite: str) -> str:
        words = ["enginescope", "runs", "push", self._target.url, "--suite", suite]
        words += ["--store", str(self._store.place)]
        if self._target.token_file is not None:
            words += ["--token-file", str(self._target.token_file)]
        return f"send the rest: {shlex.join(words)}"


def outbox_of(store: Store, folder: SuiteFolder) -> Store:
    """Return where a session stores its runs: a database gets them from an outbox."""
    return Store(folder.path / "outbox") if isinstance(store.place, DatabaseUrl) else store


def sink_for(
    request: SuiteRequest, store: Store, outbox: Store, observer: Observer
) -> SuiteSink | None:
    """Return where rows are sent; ``None``: they stay in the suite's folder."""
    if request.push is None:
        return DatabaseSink(store, outbox) if outbox is not store else None
    if outbox is not store:
        what = f"the store {store.place} and the server {request.push.url}"
        hint = "serve the database: enginescope serve --store URL"
        raise UsageError(what, why="a database and a server would both get the rows", hint=hint)
    return ServerSink(request.push, store, observer)


#: How long a lease lasts, and how often it is renewed.
LEASE_S, RENEW_S = 120.0, 30.0
#: Wait after a failed attempt; each further one doubles it.
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 60.0
#: Rows of one request.
_BATCH = 20


class SuiteStream:
    """Holds the lease of a suite, and sends each row that its folder stores, with its runs.

    The suite's folder is what is sent from: a row is on the disk first. One thread sends, tries
    again after a failure, and renews the lease. Leaving the block sends what is left, and stops at
    the first failure. Without a sink nothing is sent, and the lease is in the folder alone.
    """

    def __init__(
        self, plan: SuitePlan, folder: SuiteFolder, sink: SuiteSink | None, observer: SuiteObserver
    ) -> None:
        self._plan, self._folder, self._sink, self._observer = plan, folder, sink, observer
        self._name = plan.suite.name
        self._rows: deque[CellRow] = deque()
        self._runs: deque[str] = deque()
        self._is_announced = False
        self._reported: str | None = None
        self._failure: str | None = None
        self._ending, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="suite stream", daemon=True)

    def __enter__(self) -> SuiteStream:
        """Take the lease, and start to send what an earlier session has left.

        Raises:
            SuiteRunsError: Another machine runs the suite.
            StoreError: The database or the server refuses; a server that cannot be reached does
                not raise, as it may come back.
        """
        claim = self._claim(LEASE_S)
        self._folder.put(SuiteChange(claim=claim))
        try:
            self._announce(claim)
        except UnreachableError as error:
            self._report(error)
        except BaseException:
            self._folder.put(SuiteChange(claim=self._claim(0)))
            raise
        self._folder.row_stored = self._add
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        self._ending.set()
        self._wake.set()
        self._thread.join()
        if kind is not None and self.unsent is not None:  # nobody gets a result to read it in
            self._observer.warn(self.unsent)

    @property
    def unsent(self) -> str | None:
        """What was not sent, why, and what sends it; ``None``: all was."""
        if self._sink is None:
            return None
        refused = [f"run {one.run} was not sent: {one.why}" for one in self._sink.refused]
        is_complete = self._is_announced and not self._rows and not self._runs
        if self._failure is None or is_complete:
            return "; ".join(refused) or None
        count = len({row.cell.key for row in self._rows}) or len(set(self._runs))
        what = "row" if self._rows or not self._runs else "run"
        waiting = f"1 {what} is" if count == 1 else f"{count:,} {what}s are"
        if not self._is_announced:  # what earlier sessions have left is not known
            waiting = f"at least {waiting}"
        remedy = self._sink.remedy(self._name)
        text = f"{waiting} not sent to {self._sink}: {self._failure}; {remedy}"
        return "; ".join((*refused, text))

    def _add(self, row: CellRow) -> None:
        self._rows.append(row)
        self._wake.set()

    def _work(self) -> None:
        wait_s = FIRST_WAIT_S
        while True:
            is_last = self._ending.is_set()
            self._failure = "sending was interrupted"
            self._failure = self._attempt(is_last=is_last)
            if is_last:
                return
            if self._failure is None:
                wait_s = FIRST_WAIT_S
                self._wake.wait(RENEW_S)
                self._wake.clear()
            else:
                self._ending.wait(wait_s)
                wait_s = min(2 * wait_s, MOST_WAIT_S)

    def _attempt(self, *, is_last: bool) -> str | None:
        """Send everything, and renew or end the lease; return why that failed."""
        claim = self._claim(0 if is_last else LEASE_S)
        with suppress(StoreError):  # what readers of the folder know of it then expires
            self._folder.put(SuiteChange(claim=claim))
        try:
            if not self._is_announced:
                self._announce_late(claim)
            if is_last and self._sink is not None:
                self._runs.extend(self._sink.backlog())
            self._send(claim)
        except (EnginescopeError, OSError) as error:
            self._report(error)
            return str(error)
        self._reported = None
        return None

    def _announce(self, claim: Claim | None) -> None:
        if self._sink is not None:
            self._sink.shelf.put_suite(self._name, SuiteChange(plan=self._plan, claim=claim))
            ended = self._sink.shelf.suite_ended(self._name)
            rows = self._folder.rows().values()
            self._runs.extend(self._sink.backlog())
            self._rows.extend(row for row in rows if ended.get(row.cell.key, "") < row.ended)
        self._is_announced = True

    def _announce_late(self, claim: Claim) -> None:
        try:
            self._announce(claim)
        except SuiteRunsError as error:  # what was measured here meanwhile is sent all the same
            self._report(error)
            self._announce(None)

    def _send(self, claim: Claim) -> None:
        if self._sink is None:
            return
        while self._runs or self._rows:
            # not iterated: sessions append rows meanwhile
            rows = tuple(self._rows[at] for at in range(min(len(self._rows), _BATCH)))
            self._sink.send_runs([*self._runs, *(run for row in rows for run in row.run_ids)])
            self._runs.clear()
            if rows:
                self._sink.shelf.put_suite(self._name, SuiteChange(rows=rows))
            for _ in rows:
                self._rows.popleft()
            self._renew(claim)
        self._renew(claim)

    def _renew(self, claim: Claim) -> None:
        assert self._sink is not None
        try:
            self._sink.shelf.put_suite(self._name, SuiteChange(claim=claim))
        except SuiteRunsError as error:  # it expired while the connection was lost
            self._report(error)

    def _report(self, error: Exception) -> None:
        """Report a failure once, and not again for each attempt."""
        if self._reported != str(error):
            self._reported = str(error)
            self._observer.sending_failed(str(error))

    def _claim(self, seconds: float) -> Claim:
        owner = f"{socket.gethostname()} (process {os.getpid()})"
        return Claim(owner=owner, token=self._folder.token(), seconds=seconds)
