"""Progress of a suite on standard error: live lines on a terminal, else a line for each cell."""

from __future__ import annotations

import threading
import time

from rich.live import Live
from rich.text import Text

from enginescope.cli.messages import note, warn
from enginescope.cli.progress import Shown, describe, error_console, live_lines
from enginescope.judge.units import counted, format_significant
from enginescope.records.progress import Progress
from enginescope.records.suite import suite
from enginescope.services.suites.request import SuiteObserver


class SuiteProgress(Shown[Live], SuiteObserver):
    """Shows how many cells are done, failed and left, from the start to the end of ``with``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin = time.monotonic()
        self._total = self._todo = self._done = self._failed = 0
        self._running: dict[int, tuple[suite.Cell, str]] = {}
        self._process: dict[int, str] = {}
        self._result: suite.SuiteResult | None = None
        self._console = error_console()
        super().__init__(live_lines(self._console))

    def __enter__(self) -> SuiteProgress:
        """Show nothing yet: `session_started` does."""
        return self

    def standing(self) -> str:
        if self._result is None:
            return "no cell was started"
        done, count = len(self._result.rows), len(self._result.plan.cells)
        return f"{done:,} of {count:,} cells are done; run the same command to resume"

    def warn(self, text: str) -> None:
        warn(text)

    def session_started(self, plan: suite.SuitePlan, state: suite.ResumeState) -> None:
        """Print what is done, and start the live lines."""
        self._total, self._todo = len(plan.cells), len(state.todo)
        _note_state(plan, state)
        self._begin = time.monotonic()
        super().__enter__()

    def cell_started(self, cell: suite.Cell, slot: int, place: str | None = None) -> None:
        with self._lock:
            self._process[slot] = ""
            # another Python reports nothing before its end
            where = f"runs in environment {cell.environment}" if cell.environment else "starting"
            self._running[slot] = (cell, where)
            self._show()
        if place is not None:
            note(f"{cell.label}: on {place}")

    def process_started(self, slot: int, number: int) -> None:
        """Show which process of a cell measures; a process that validates has no number."""
        with self._lock:
            if slot in self._running and (count := self._running[slot][0].processes) > 1:
                self._process[slot] = f"process {number + 1} of {count}, "

    def cell_progressed(self, slot: int, progress: Progress) -> None:
        with self._lock:
            if slot in self._running:
                cell = self._running[slot][0]
                self._running[slot] = (cell, f"{self._process[slot]}{describe(progress)}")
                self._show()

    def cell_retried(self, cell: suite.Cell, why: str) -> None:
        note(f"{cell.label}: {why}; it runs once more")

    def cell_ended(self, row: suite.CellRow, slot: int) -> None:
        with self._lock:
            self._running.pop(slot, None)
            self._done += 1
            self._failed += row.status is not suite.CellStatus.OK
            place = f"[{self._before + self._done}/{self._total}]"
            self._line(f"{place} {row.cell.label}: {ending(row)}")
            self._show()

    def sending_failed(self, why: str) -> None:
        with self._lock:
            self._line(f"not sent yet: {why}; measuring continues, and sending is tried again")

    def session_ended(self, result: suite.SuiteResult) -> None:
        """Take the rows for `standing`."""
        self._result = result

    def table_skipped(self, name: str, why: str) -> None:
        note(f"no {name}: {why}")

    @property
    def _before(self) -> int:
        return self._total - self._todo

    def _show(self) -> None:
        if self._live is None:
            return
        lines = [f"  {cell.label}: {what}" for cell, what in self._running.values()]
        text = "\n".join((self._summary(), *lines))
        self._live.update(Text(text, overflow="ellipsis", no_wrap=True))

    def _summary(self) -> str:
        parts = [f"{self._before + self._done:,} of {self._total:,} cells done"]
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        if self._done:  # if cells take as long as those of this session did
            each_s = (time.monotonic() - self._begin) / self._done
            parts.append(f"about {span_text(each_s * (self._todo - self._done))} left")
        return " · ".join(parts)


def ending(row: suite.CellRow) -> str:
    """Return how a cell ended, in a few words."""
    if row.status is suite.CellStatus.OK:
        latency, error = row.figure("latency"), row.figure("max_abs_error")
        text = "ok" if latency is None else f"ok, {format_significant(latency, 4)} ms"
        return text if error is None else f"{text}, largest error {format_significant(error)}"
    word = row.status.value.replace("_", " ")
    return f"{word}: {row.reason}" if row.reason else word


def span_text(seconds: float) -> str:
    """Return ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _note_state(plan: suite.SuitePlan, state: suite.ResumeState) -> None:
    parts = [f"{plan.suite.name}: {len(plan.cells):,} cells"]
    if state.done:
        parts.append(f"{len(state.done):,} done before")
    if state.known_bad:
        parts.append(f"{len(state.known_bad):,} known to be bad")
    if state.changed:
        parts.append(f"{state.changed:,} from other versions or another machine, to run again")
    note(", ".join(parts))
    from enginescope.render.base.phrases import few
    from enginescope.render.suites.suite_answer import reason_shape

    alike: dict[object, list[suite.CellRow]] = {}
    for row in state.known_bad:
        alike.setdefault(reason_shape(row), []).append(row)
    for rows in alike.values():
        when = min(row.ended for row in rows).partition("T")[0]
        names = few([*dict.fromkeys(row.cell.label for row in rows)], 8)
        note(f"skipped, known to be bad since {when}: {names}: {ending(rows[0])}")
    if state.known_bad:
        note("--retry-failed runs them again")
    busy = sum(row.is_unstable for row in state.done)
    if busy:
        cells = counted(busy, "cell")
        note(f"{cells} measured on a busy machine (!); --retry-busy runs such cells again")
