"""What a suite reports while it runs."""

from __future__ import annotations

from enginescope.records.progress import Progress
from enginescope.records.suite.suite import Cell, CellRow, ResumeState, SuitePlan, SuiteResult
from enginescope.services.observer import Observer


class SuiteObserver(Observer):
    """Receives the reports of a suite; every method does nothing until a subclass overrides it.

    Cells that run at a time have different slots, from 0. On this machine, each slot reports from a
    thread of its own. `check_cancelled` is called before each cell; on a fleet, after it too.
    """

    def session_started(self, plan: SuitePlan, state: ResumeState) -> None:
        """Report the plan and the cells of this session, before any cell runs."""

    def cell_started(self, cell: Cell, slot: int, place: str | None = None) -> None:
        """Report the start of a cell; `place` is the machine of a fleet."""

    def process_started(self, slot: int, number: int) -> None:
        """Report the start of a measuring process of the slot's cell, counted from 0."""

    def cell_progressed(self, slot: int, progress: Progress) -> None:
        """Report the progress of the slot's cell."""

    def cell_retried(self, cell: Cell, why: str) -> None:
        """Report that a machine was lost, and that its cell runs again."""

    def cell_ended(self, row: CellRow, slot: int) -> None:
        """Report a row; it is stored."""

    def sending_failed(self, why: str) -> None:
        """Report that rows cannot be sent now: they are stored here, and sent later.

        A thread of its own reports it, once for each reason.
        """

    def session_ended(self, result: SuiteResult) -> None:
        """Report all rows of the suite, also after an interruption."""

    def table_skipped(self, name: str, why: str) -> None:
        """Report a table that was not written, as an optional package is not installed."""
