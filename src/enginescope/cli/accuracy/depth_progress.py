"""Progress of ``depth``: outputs and comparisons first, then the timed runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from enginescope.cli.accuracy.validation_progress import ValidationProgress
from enginescope.cli.options import note
from enginescope.cli.progress import JobProgress
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from enginescope.records.run.watcher import Watcher
from enginescope.services.accuracy.depth_request import DepthObserver


class DepthProgress(ValidationProgress, DepthObserver):
    """Shows the steps one after another; notes come after the result."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._timing = ExitStack()
        self._jobs: JobProgress | None = None
        self._planned = self._stored = 0
        self._notes: list[str] = []

    def warn(self, text: str) -> None:
        """Keep a note for `print_notes`."""
        self._notes.append(text)

    def print_notes(self) -> None:
        """Print the notes."""
        for text in self._notes:
            note(f"enginescope: {text}")

    def timing_started(self, jobs: Sequence[Job]) -> Watcher:
        """Show the measured jobs in place of the outputs."""
        if self._live:
            self._live.stop()
        self._planned = len(jobs)
        self._jobs = JobProgress(tuple(jobs), quiet=self._quiet)
        return self._timing.enter_context(self._jobs).watcher

    def run_ended(self, run: Run, stored: int) -> None:
        """Show how a job has ended."""
        self._stored = stored
        if self._jobs is not None:
            self._jobs.ended(run)

    def standing(self) -> str:
        """Return what is stored so far."""
        if not self._planned:
            return "no run is stored"
        return f"{self._stored} of {self._planned} runs are stored"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what is shown."""
        self._timing.close()
        super().__exit__(kind, error, trace)
