"""Rounds of one fresh process of each side, in random order; a disturbed process runs again."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from msgspec.structs import replace

from enginescope.analysis.lottery.lottery_report import TimedRun
from enginescope.core.record import Record
from enginescope.core.signals import deferred_signals
from enginescope.records.progress import COMPARISON_TAG, Progress, RoundPosition
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.session import Sink, run_jobs
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.stats.comparison.steady_rounds import uncertainty_pct
from enginescope.stats.stability import WIDE_PCT
from enginescope.store.run_keeper import RunKeeper


class ProcessObserver(MeasurementObserver):
    """Receives which process is under way."""

    def process_started(self, text: str) -> None:
        """Report a process that builds or measures."""

    def process_progressed(self, text: str, progress: Progress) -> None:
        """Report the phase of that process."""

    def process_watcher(self, text: str) -> Watcher:
        """Pass on what the runner reports of one process; cancel before it starts."""

        def started(_index: int, _job: Job) -> None:
            self.check_cancelled()
            self.process_started(text)

        return Watcher(
            started=started,
            progressed=lambda _index, progress: self.process_progressed(text, progress),
        )


class RoundSide(Record, frozen=True, kw_only=True, eq=False):
    """What has one process in a round.

    Attributes:
        label: As `RoundPosition.side` has it.
        text: For people, while its process runs.
    """

    label: str
    job: Job
    text: str


class ProcessRounds:
    """Measures rounds, and stores each run without its outputs, which may be large.

    Args:
        take: Gets each run with its outputs, before it is stored.
        spare: Number of processes that may run again because they failed or were disturbed.
    """

    def __init__(
        self,
        keeper: RunKeeper,
        observer: ProcessObserver,
        take: Callable[[str, Run], None] = lambda _label, _run: None,
        *,
        seed: int,
        spare: int,
        tags: tuple[str, ...],
        command: str | None,
    ) -> None:
        self.comparison = secrets.token_hex(4)
        self._keeper, self._observer, self._take = keeper, observer, take
        self._draw = random.Random(seed)  # noqa: S311 - an order to be repeated
        self._spare, self._tags, self._command = spare, tags, command

    def measured(
        self, number: int, sides: Sequence[RoundSide]
    ) -> Iterator[tuple[RoundSide, TimedRun]]:
        """Yield each side with its process, in random order.

        Args:
            number: Of the round, from 0.
        """
        for place, side in enumerate(self._draw.sample(sides, len(sides))):
            turn = RoundPosition(
                comparison=self.comparison, side=side.label, round=number, place=place
            )
            yield side, self._process(side, turn)

    def _process(self, side: RoundSide, turn: RoundPosition) -> TimedRun:
        while True:
            timed = self._once(side, turn)
            if not _is_disturbed(timed.run) or not self._spare:
                return timed
            self._spare -= 1

    def _once(self, side: RoundSide, turn: RoundPosition) -> TimedRun:
        ended: list[Run] = []
        watcher = self._observer.process_watcher(side.text)
        begin = perf_counter()
        run_jobs((side.job,), self._sink(turn, ended), command=self._command, watcher=watcher)
        return TimedRun(run=ended[0], seconds=perf_counter() - begin)

    def _sink(self, turn: RoundPosition, ended: list[Run]) -> Sink:
        @deferred_signals()
        def keep(run: Run) -> None:
            self._take(turn.side, run)
            plain = replace(run, turn=turn, answers=())
            self._keeper.keep(plain, (*self._tags, f"{COMPARISON_TAG}{self.comparison}"))
            self._observer.run_ended(plain, is_stored=plain not in self._keeper.lost)
            ended.append(plain)

        return keep


def _is_disturbed(run: Run) -> bool:
    """Whether a process failed, or its median is hardly known."""
    if run.outcome.kind is not OutcomeKind.OK or run.headline is None:
        return True
    return (uncertainty_pct(run.headline.values_ms) or 0.0) > WIDE_PCT
