"""Progress of interleaved jobs."""

from __future__ import annotations

from rich.text import Text

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.cli.progress import JobProgress, describe, job_text
from enginescope.records.progress import Progress
from enginescope.records.round_position import RoundPosition
from enginescope.records.run.job import Job
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.verdicts.side_names import comparison_tag
from enginescope.render.verdicts.verdict_phrases import headline_sentence, kind_text, ratio_text


class RoundsProgress(JobProgress):
    """Shows the round and its process; one line a look, and one for each process that fails."""

    _most = 0
    _so_far = ""
    _comparison: str | None = None

    def rounds_started(self, jobs: tuple[Job, ...], most: int) -> None:
        """Print what is compared, where no live line shows it."""
        self._jobs, self._most = jobs, most
        if not self._live and not self._quiet:
            sides = f"{len(jobs)} sides"
            self._line(f"comparing {sides} in turn, at most {most} rounds …")

    def looked(self, comparison: MeasuredComparison, rounds: int) -> None:
        """Show an interim result."""
        self._so_far = f"after {rounds} rounds: {'; '.join(map(_brief, comparison.pairs))}"
        if not self._quiet and not self._live:
            said = "; ".join(headline_sentence(pair) for pair in comparison.pairs)
            self._line(f"after {rounds} rounds: {said}")

    def ended(self, run: Run) -> None:
        """Say that a process has failed; of others the screen at the end tells."""
        if run.outcome.kind is not OutcomeKind.OK and not self._quiet and run.turn:
            why = run.outcome.message or run.outcome.kind.value
            self._line(f"round {run.turn.round + 1}, {run.turn.side} failed: {why}")

    def run_ended(self, run: Run, *, is_stored: bool) -> None:
        """Count a stored run, and print a failure."""
        super().run_ended(run, is_stored=is_stored)
        if is_stored and run.turn is not None:
            self._comparison = run.turn.comparison

    def standing(self) -> str:
        """Return what an interrupt leaves in the store, and how to compare it."""
        count = "1 run is" if self._stored == 1 else f"{self._stored} runs are"
        if self._comparison is None:
            return f"{count} stored"
        return f"{count} stored; enginescope compare {comparison_tag(self._comparison)}"

    def turn_started(self, turn: RoundPosition, job: Job) -> None:
        """Show a process that starts."""
        self._show(turn, job, "starting")

    def turn_progressed(self, turn: RoundPosition, progress: Progress) -> None:
        """Show the phase of a process."""
        self._show(turn, self._jobs[ord(turn.side) - ord("A")], describe(progress))

    def _show(self, turn: RoundPosition, job: Job, doing: str) -> None:
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
