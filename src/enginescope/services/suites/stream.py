"""Send the rows of a suite while it runs: measuring waits for no connection, and loses no row."""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType

from enginescope.core.errors import EnginescopeError, StoreError
from enginescope.records.suite.suite import CellRow, SuitePlan
from enginescope.records.suite.suite_change import Claim, SuiteChange
from enginescope.services.suites.request import SuiteObserver
from enginescope.services.suites.sinks import SuiteSink
from enginescope.store.remote import UnreachableError
from enginescope.store.suite_folder import SuiteFolder, SuiteRunsError

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
    the first failure.

    Args:
        sink: ``None``: nothing is sent, and the lease is in the folder alone.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """Send the plan, and queue what the sink does not have yet."""
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
