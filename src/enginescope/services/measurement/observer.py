"""What the measuring services report while they work; warnings of many processes as one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from enginescope.core.process_control import deferred_signals
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.notice import is_unstable
from enginescope.records.progress import Progress, RoundPosition
from enginescope.records.run.job import Job, Watcher
from enginescope.services.observer import Observer

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
    from enginescope.records.environment import ClockLock
    from enginescope.records.run.run import Run


class MeasurementObserver(Observer):
    """Receives the progress of jobs and of interleaved rounds; every method does nothing here.

    Attributes:
        interruption: What ended the measurement, where the answer so far is wanted.
    """

    interruption: BaseException | None = None

    def jobs_started(self, jobs: tuple[Job, ...]) -> None:
        """Report the jobs before the first one runs."""

    def job_started(self, index: int, job: Job) -> None:
        """Report a job that starts."""

    def job_progressed(self, index: int, progress: Progress) -> None:
        """Report the phase of a running job."""

    def run_ended(self, run: Run, *, is_stored: bool) -> None:
        """Report a run, whatever its outcome."""

    def clocks_locked(self, locks: Mapping[str, ClockLock]) -> None:
        """Report the clock of each GPU, by UUID; they are reset after the jobs."""

    def rounds_started(self, jobs: tuple[Job, ...], most: int) -> None:
        """Report the sides of an interleaved comparison and the maximum number of rounds."""

    def rounds_continued(self, tag: str, rounds: int, *, is_decided: bool) -> None:
        """Report a comparison that is continued after `rounds`; no more if it is decided."""

    def turn_started(self, turn: RoundPosition, job: Job) -> None:
        """Report a process of a round that starts."""

    def turn_progressed(self, turn: RoundPosition, progress: Progress) -> None:
        """Report the phase of a process of a round."""

    def turn_watcher(self, turn: RoundPosition) -> Watcher:
        """Pass on what the runner reports of a process of a round; cancel before it starts."""
        return self._passing_on(
            lambda _index, job: self.turn_started(turn, job),
            lambda _index, progress: self.turn_progressed(turn, progress),
        )

    def round_ended(self, measured: int, counting: int, left_s: float | None) -> None:
        """Report the rounds so far, also noisy and failed ones, and the most seconds left."""

    def time_left(self, seconds: float | None) -> None:
        """Report the seconds that the whole measurement will probably take; ``None``: unknown."""

    def interrupted(self, error: BaseException) -> None:
        """Raise an interrupt; who returns instead gets the answer of what was measured so far.

        Every run is stored by then.
        """
        raise error

    @contextmanager
    def answering(self) -> Iterator[None]:
        """In this block a signal waits until the answer is whole, and counts as an interrupt then.

        A second signal ends the block.
        """
        is_whole = False
        try:
            with deferred_signals():
                yield
                is_whole = True
        except (KeyboardInterrupt, SystemExit) as error:
            if not is_whole:
                raise
            self.interrupted(error)

    def stands(self, text: str) -> None:
        """Report in one line what is decided so far."""

    def process_started(self, text: str) -> None:
        """Report a process that builds, measures or computes outputs."""

    def process_progressed(self, text: str, progress: Progress) -> None:
        """Report the phase of that process."""

    def process_watcher(self, text: str) -> Watcher:
        """Pass on what the runner reports of one process; cancel before it starts."""
        return self._passing_on(
            lambda _index, _job: self.process_started(text),
            lambda _index, progress: self.process_progressed(text, progress),
        )

    def looked(self, comparison: MeasuredComparison, rounds: int) -> None:
        """Report an interim result after `rounds` complete rounds."""

    @property
    def watcher(self) -> Watcher:
        """Pass on what the runner reports of jobs; cancel between jobs."""
        return self._passing_on(self.job_started, self.job_progressed)

    def _passing_on(
        self, started: Callable[[int, Job], None], progressed: Callable[[int, Progress], None]
    ) -> Watcher:
        def begin(index: int, job: Job) -> None:
            self.check_cancelled()
            started(index, job)

        return Watcher(started=begin, progressed=progressed)


def merged_notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return each warning of the runs once, with the number of processes that have it.

    The figures are unstable where half of all processes are, as those of a suite.
    """
    by_code: dict[str, list[Notice]] = {}
    for run in runs:
        for notice in run.notices:
            if notice.level == "warning":
                by_code.setdefault(notice.code, []).append(notice)
    return tuple(_merged(notices, len(runs)) for notices in by_code.values())


def _merged(notices: Sequence[Notice], processes: int) -> Notice:
    ordered = sorted(notices, key=is_unstable)
    unstable = sum(map(is_unstable, notices))
    merged = ordered[-1] if 2 * unstable >= processes else ordered[0]
    count = f"(in {len(notices)} of {processes} processes)"
    evidence = {**merged.evidence, "unstable": 2 * unstable >= processes}
    message = f"{merged.message} {count}"
    return replace(merged, message=message, evidence=evidence if unstable else merged.evidence)
