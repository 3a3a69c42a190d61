"""Progress of a suite: a live line on a terminal, a line for each cell elsewhere; on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping

from rich.live import Live
from rich.text import Text

from enginescope.backends.base import Progress
from enginescope.cli.live import Shown, error_console, live_lines
from enginescope.cli.progress import describe
from enginescope.core.units import format_significant
from enginescope.model.suite import Cell, CellRow, CellStatus
from enginescope.runner.session import Watcher


class SuiteProgress(Shown[Live]):
    """Shows how many cells are done, failed and left, between ``with`` and its end.

    Parameters
    ----------
    todo : int
        Cells of this sitting.
    before : int
        Cells that were done before.
    lanes : int
        Cells that run at a time.
    """

    def __init__(self, todo: int, before: int, *, lanes: int = 1, quiet: bool = False) -> None:
        self._todo, self._before, self._lanes = todo, before, lanes
        self._quiet = quiet
        self._lock = threading.Lock()
        self._begin = time.monotonic()
        self._done = self._failed = 0
        self._running: dict[int, tuple[Cell, str]] = {}
        self._of: dict[int, str] = {}
        self._console = error_console()
        super().__init__(None if quiet else live_lines(self._console))

    def watcher(self, lane: int) -> Watcher:
        """Return what the runner tells of the cell in a lane."""
        return Watcher(
            started=lambda number, _job: self._measuring(lane, number),
            progressed=lambda _number, progress: self._progressed(lane, progress),
        )

    def started(self, cell: Cell, lane: int) -> None:
        """Say that a cell is being done."""
        with self._lock:
            self._of[lane] = ""
            # of what another Python does nothing is told before its end
            where = f"runs in environment {cell.environment}" if cell.environment else "starting"
            self._running[lane] = (cell, where)
            self._show()

    def ended(self, row: CellRow, lane: int) -> None:
        """Say how a cell has ended."""
        with self._lock:
            self._running.pop(lane, None)
            self._done += 1
            self._failed += row.status is not CellStatus.OK
            if not self._quiet:
                self._line(f"{self._place()} {row.cell.label}: {ending(row)}")
            self._show()

    def _measuring(self, lane: int, number: int) -> None:
        """Know which process of its cell measures; those that answer before it have no number."""
        with self._lock:
            if lane in self._running and (count := self._running[lane][0].processes) > 1:
                self._of[lane] = f"process {number + 1} of {count}, "

    def _progressed(self, lane: int, progress: Progress) -> None:
        with self._lock:
            if lane in self._running:
                cell = self._running[lane][0]
                self._running[lane] = (cell, f"{self._of[lane]}{describe(progress)}")
                self._show()

    def _place(self) -> str:
        return f"[{self._before + self._done}/{self._before + self._todo}]"

    def _show(self) -> None:
        if self._live is None:
            return
        lines = [f"  {cell.label}: {what}" for cell, what in self._running.values()]
        text = "\n".join((self._summary(), *lines))
        self._live.update(Text(text, overflow="ellipsis", no_wrap=True))

    def _summary(self) -> str:
        parts = [f"{self._before + self._done:,} of {self._before + self._todo:,} cells done"]
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        left = self._left_s()
        if left is not None:
            parts.append(f"about {span_text(left)} left")
        return " · ".join(parts)

    def _left_s(self) -> float | None:
        """Return the seconds left, if cells take as long as those of this sitting did."""
        if not self._done:
            return None
        each = (time.monotonic() - self._begin) / self._done
        return each * (self._todo - self._done)

    def _line(self, text: str) -> None:
        if self._live:
            self._console.print(Text(text))
        else:
            print(text, file=sys.stderr, flush=True)


def ending(row: CellRow) -> str:
    """Return how a cell ended, in a few words."""
    if row.status is CellStatus.OK:
        latency, error = row.figure("latency"), row.figure("max_abs_error")
        parts = ["ok"]
        if latency is not None:
            parts.append(f"{format_significant(latency, 4)} ms")
        if error is not None:
            parts.append(f"largest error {format_significant(error)}")
        return ", ".join(parts)
    word = row.status.value.replace("_", " ")
    return f"{word}: {row.reason}" if row.reason else word


def counts_text(counts: Mapping[CellStatus, int]) -> str:
    """Return ``12 ok, 1 crashed``; statuses without a cell are left out."""
    parts = [f"{counts[one]:,} {one.value.replace('_', ' ')}" for one in CellStatus if counts[one]]
    return ", ".join(parts) or "none"


def span_text(seconds: float) -> str:
    """Return ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
