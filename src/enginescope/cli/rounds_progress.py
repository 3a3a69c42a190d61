"""Progress of jobs that are measured in turn."""

from __future__ import annotations

from rich.text import Text

from enginescope.analysis.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.backends.base import Progress
from enginescope.cli.progress import JobProgress, describe, job_text
from enginescope.model.job import Job
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.turn import Turn
from enginescope.render.verdict_phrases import headline_sentence, kind_text, ratio_text
from enginescope.runner.interleaved import TurnWatcher


class RoundsProgress(JobProgress):
    """Shows the round and its process; one line a look, and one for each process that fails."""

    def __init__(self, jobs: tuple[Job, ...], most: int, *, quiet: bool = False) -> None:
        super().__init__(jobs, quiet=quiet)
        self._most = most
        self._so_far = ""

    @property
    def turns(self) -> TurnWatcher:
        """What the runner tells of its progress, shown here."""
        return TurnWatcher(started=self._turn_started, progressed=self._turn_progressed)

    def begin(self) -> None:
        """Say what is going to happen, where no live line does."""
        if not self._live and not self._quiet:
            sides = f"{len(self._jobs)} sides"
            self._line(f"comparing {sides} in turn, at most {self._most} rounds …")

    def looked(self, found: MeasuredComparison, rounds: int) -> None:
        """Say what a look has shown."""
        self._so_far = f"after {rounds} rounds: {'; '.join(map(_brief, found.pairs))}"
        if not self._quiet and not self._live:
            said = "; ".join(headline_sentence(pair) for pair in found.pairs)
            self._line(f"after {rounds} rounds: {said}")

    def ended(self, run: Run) -> None:
        """Say that a process has failed; of others the screen at the end tells."""
        if run.outcome.kind is not OutcomeKind.OK and not self._quiet and run.turn:
            why = run.outcome.message or run.outcome.kind.value
            self._line(f"round {run.turn.round + 1}, {run.turn.side} failed: {why}")

    def _turn_started(self, turn: Turn, job: Job) -> None:
        self._show(turn, job, "starting")

    def _turn_progressed(self, turn: Turn, progress: Progress) -> None:
        self._show(turn, self._jobs[ord(turn.side) - ord("A")], describe(progress))

    def _show(self, turn: Turn, job: Job, doing: str) -> None:
        if self._live is None:
            return
        number = turn.round + 1
        of = f"of at most {self._most}" if number <= self._most else "for one that was lost"
        place = f"round {number} {of} · {turn.side} {job_text(job)}"
        lines = [place, f"  {doing}", *([self._so_far] if self._so_far else [])]
        self._live.update(Text("\n".join(lines), overflow="ellipsis", no_wrap=True))


def _brief(pair: MeasuredPair) -> str:
    verdict = pair.headline
    return f"{pair.b} {ratio_text(verdict.estimate)} × {pair.a}, {kind_text(verdict)}"
