"""``enginescope bench … --compare``: progress and result of an interleaved comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.cli.process_options import request_of
from enginescope.cli.progress import JobProgress, describe, exit_code, job_text, measuring
from enginescope.cli.report_output import step
from enginescope.cli.run_output import present
from enginescope.cli.verb import EXIT_RUN_FAILED, typed
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.units import counted, format_span
from enginescope.records.progress import Progress, RoundPosition
from enginescope.records.run.job import Job, StopRule
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.verdicts.verdict_phrases import (
    comparison_tag,
    headline_sentence,
    kind_text,
    ratio_text,
)
from enginescope.services.measurement.interleaved import compare_interleaved, with_process_stop
from enginescope.services.measurement.rounds import InterleavedRequest

if TYPE_CHECKING:
    from enginescope.records.run.job import Workload


class RoundsProgress(JobProgress):
    """Shows the round and its process; one line a look, and one for each process that fails."""

    _most = 0
    _so_far = _left = ""
    _measured = 0
    _counting = 0
    _last_line = 0
    _comparison: str | None = None
    _can_continue = False

    def rounds_started(self, jobs: tuple[Job, ...], most: int) -> None:
        """Print what is compared, where no live line shows it."""
        self._begin_rounds(jobs, most)
        if not self._live:
            what = f"comparing {len(jobs)} sides, interleaved" if len(jobs) > 1 else "measuring"
            self._line(f"{what}, at most {most} rounds …")

    def _begin_rounds(self, jobs: tuple[Job, ...], most: int) -> None:
        self._jobs, self._most = jobs, most
        self._measured = self._counting = self._last_line = 0

    def rounds_continued(self, tag: str, rounds: int, *, is_decided: bool) -> None:
        """Print what is continued, or that nothing is left to measure."""
        more = "the answer is final, so no round is added" if is_decided else "continuing"
        self._line(f"{tag} after {counted(rounds, 'round')}: {more}")

    def round_ended(self, measured: int, counting: int, left_s: float | None) -> None:
        """Print how far it is, where no look did for some rounds."""
        self._measured, self._counting = measured, counting
        self._left = f", at most {format_span(left_s)} left" if left_s is not None else ""
        if measured - self._last_line < LOOKS[0] + 1 or self._live:
            return
        self._last_line = measured
        left_out = measured - counting
        why = f"; {left_out} noisy or failed, left out" if left_out else ""
        left = f"{self._left}{why}{self._left_in_all}"
        self._line(f"{measured} of at most {self._most} rounds measured{left} …")

    def looked(self, comparison: MeasuredComparison, rounds: int) -> None:
        self._last_line = self._measured
        brief = (
            f"{pair.b} {ratio_text(pair.headline.estimate)} × {pair.a}, {kind_text(pair.headline)}"
            for pair in comparison.pairs
        )
        self._so_far = f"after {rounds} rounds: {'; '.join(brief)}"
        if not self._live:
            said = "; ".join(headline_sentence(pair) for pair in comparison.pairs)
            self._line(f"after {rounds} rounds: {said}")

    def ended(self, run: Run) -> None:
        """Say that a process has failed; of others the screen at the end tells."""
        if run.outcome.kind is not OutcomeKind.OK and run.turn:
            why = run.outcome.message or run.outcome.kind.value
            self._line(f"round {run.turn.round + 1}, {run.turn.side} failed: {why}")

    def run_ended(self, run: Run, *, is_stored: bool) -> None:
        super().run_ended(run, is_stored=is_stored)
        if is_stored and run.turn is not None:
            self._comparison = run.turn.comparison
            self._can_continue = run.turn.plan is not None

    def extent(self) -> str:
        most = counted(self._most, "round")
        return f" after {self._measured} of at most {most}" if self._most else ""

    def standing(self) -> str:
        """Return what an interrupt leaves in the store, and how to compare it."""
        count = "1 run is" if self._stored == 1 else f"{self._stored} runs are"
        if self._comparison is None:
            return f"{count} stored"
        tag = comparison_tag(self._comparison)
        is_own = self._can_continue and not self.can_continue  # else the verb itself goes on
        more = f"; enginescope compare {tag} --continue" if is_own else f": {tag}"
        return f"{count} stored{more}"

    def turn_started(self, turn: RoundPosition, job: Job) -> None:
        self._show(turn, job, "starting")

    def turn_progressed(self, turn: RoundPosition, progress: Progress) -> None:
        self._show(turn, self._jobs[ord(turn.side) - ord("A")], describe(progress))

    def _show(self, turn: RoundPosition, job: Job, doing: str) -> None:
        if self._live is None:
            return
        of = f"{turn.round + 1} of at most {self._most}, {self._counting} count{self._left}"
        place = f"round {of} · {turn.side} {job_text(job)}"
        lines = [place, f"  {doing}{self._left_in_all}", *([self._so_far] if self._so_far else [])]
        self._live.update(Text("\n".join(lines), overflow="ellipsis", no_wrap=True))


def paced(workload: Workload) -> Workload:
    """Return the workload with the time of a process in a comparison, unless options set it.

    ``--max-time`` is of all rounds.
    """
    if typed().keys() & {"iterations", "duration", "precision", "min_samples"}:
        return replace(workload, stop=replace(workload.stop, max_time_ms=StopRule().max_time_ms))
    return with_process_stop(workload)


def compare(fields: dict[str, Any], options: dict[str, Any]) -> int:
    """Compare the jobs, print the verdicts, and return the exit code."""
    fields["workload"] = paced(fields["workload"])
    max_time_s = options["max_time"] and options["max_time"] / 1e3
    request = request_of(InterleavedRequest, options, **fields, max_time_s=max_time_s)
    with measuring(progress := RoundsProgress()):
        result = compare_interleaved(request, progress)
    if result.comparison is None:
        present(result.failed, options)
    else:
        _present(result.comparison, options)
    return exit_code(progress, 0 if result.is_ok else EXIT_RUN_FAILED)


def _present(found: MeasuredComparison, options: dict[str, Any]) -> None:
    from enginescope.cli.comparison import present as present_comparison
    from enginescope.render.plan_comparison.compare_tables import Chosen
    from enginescope.services.verdicts.compare import CompareResult

    tag = comparison_tag(found.comparison or "")
    every = step(options, "every figure", "compare", tag, "-v")
    present_comparison(CompareResult(measured=found), Chosen(), options, every)
