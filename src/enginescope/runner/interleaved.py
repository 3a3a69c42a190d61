"""Sides measured in turn: rounds of fresh processes, their order drawn anew for each round.

Every side has one process in every round, so that what drifts from minute to minute, and what two
processes of the same work differ by, meets all sides alike. The store gets each process as a run
with its `Turn`; when to stop is asked of the caller after certain rounds and at no other time,
since each look is a chance to be wrong (`stats.deciding`).
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Sequence
from itertools import count
from string import ascii_uppercase

from msgspec.structs import replace

from enginescope.backends.base import Progress
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.model.job import Job, StopRule
from enginescope.model.run import OutcomeKind, Run
from enginescope.model.turn import Turn
from enginescope.runner.session import Sink, Watcher, run_jobs
from enginescope.stats.deciding import LOOKS
from enginescope.stats.steady_rounds import steady_rounds, uncertainty_pct

#: What a process is timed for where nothing else is asked for. Processes of the same work differ by
#: more than the median of a second is uncertain, so that more of them tell more than longer ones;
#: and a length that the samples have no say in is the same for all sides.
PROCESS_STOP = StopRule(duration_ms=1_000.0, min_iterations=5, precision_pct=None)
#: A side whose processes fail so often in a row is given up, and the comparison with it.
GIVE_UP_AFTER = 2
#: One round in so many may be lost to a failed process and is made up for.
_SPARE_SHARE = 4

Sides = tuple[tuple[Run, ...], ...]


class Pacing(Record, frozen=True, kw_only=True):
    """How many rounds, in which order, and when it may end.

    Attributes
    ----------
    decided : callable (sides) -> bool
        Asked after each of `looks`, with the runs of each side so far.
    looks : tuple of int
        Rounds that count (`stats.steady_rounds`) after which it is asked; it ends with the last.
    seed : int
        Of the orders.
    is_vain : callable (sides) -> bool
        Asked after the first complete round: whether no number of them would tell anything.
    """

    decided: Callable[[Sides], bool] = lambda _sides: False
    is_vain: Callable[[Sides], bool] = lambda _sides: False
    looks: tuple[int, ...] = LOOKS
    seed: int = 0


class TurnWatcher(Record, frozen=True, kw_only=True):
    """What is told while rounds run.

    Attributes
    ----------
    started : callable (turn, job)
    progressed : callable (turn, progress)
    """

    started: Callable[[Turn, Job], None] = lambda _turn, _job: None
    progressed: Callable[[Turn, Progress], None] = lambda _turn, _progress: None


def looks_up_to(rounds: int) -> tuple[int, ...]:
    """Return the looks of a comparison of at most `rounds`: `LOOKS`, stretched or shrunk.

    No look is earlier than the first of `LOOKS`, below which there is no interval.
    """
    least = LOOKS[0]
    scaled = (max(least, math.ceil(one * rounds / LOOKS[-1])) for one in LOOKS)
    return tuple(sorted({*scaled, max(least, rounds)}))


def run_interleaved(
    jobs: Sequence[Job],
    sink: Sink,
    pacing: Pacing,
    *,
    command: str | None = None,
    watcher: TurnWatcher | None = None,
) -> Sides:
    """Measure every job once a round, each time in a fresh process, until it is decided.

    A process that fails is a run like any other; its round does not count, and up to a quarter of
    the rounds is made up for. Nor does a round count in which a process was disturbed; at most as
    many more are measured as there are rounds. Layers are profiled, and engines rebuilt, in the
    first round alone.

    Parameters
    ----------
    jobs : sequence of Job
        One for each side, 2 to 26.
    sink : callable
        Gets each run as soon as its process has ended.
    pacing : Pacing
    command : str, optional
        The command line to record.
    watcher : TurnWatcher, optional

    Returns
    -------
    tuple of (tuple of Run)
        The runs of each side, round by round.

    Raises
    ------
    UsageError
        Fewer than two sides, or more than there are letters.
    """
    if not 1 < len(jobs) <= len(ascii_uppercase):
        raise UsageError(
            f"{len(jobs)} side{'' if len(jobs) == 1 else 's'} to compare",
            hint=f"2 to {len(ascii_uppercase)} models or --on",
        )
    watch = watcher or TurnWatcher()
    draw = random.Random(pacing.seed)  # noqa: S311 - an order to be repeated, no secret
    comparison = secrets.token_hex(4)
    sides: list[list[Run]] = [[] for _ in jobs]
    tally = _Tally(pacing.looks)
    for number in count():
        order = draw.sample(range(len(jobs)), len(jobs))
        for place, side in enumerate(order):
            turn = Turn(
                comparison=comparison, side=ascii_uppercase[side], round=number, place=place
            )
            sides[side].append(_process(_of_round(jobs[side], number), turn, sink, command, watch))
        so_far = tuple(map(tuple, sides))
        tally.add([runs[-1] for runs in so_far])
        if is_given_up(so_far) or tally.is_over or _may_end(pacing, tally, so_far):
            break
    return so_far


class _Tally:
    """Which rounds count so far, and which look is next."""

    def __init__(self, looks: tuple[int, ...]) -> None:
        self._looks = looks
        self._measured = 0
        self._asked = 0
        self._uncertainties_pct: list[list[float | None]] = []

    def add(self, runs: Sequence[Run]) -> None:
        """Take a round's runs, one a side."""
        self._measured += 1
        if all(run.outcome.kind is OutcomeKind.OK for run in runs):
            self._uncertainties_pct.append([_uncertainty_pct(run) for run in runs])

    @property
    def complete(self) -> int:
        return len(self._uncertainties_pct)

    @property
    def counting(self) -> int:
        return sum(steady_rounds(list(zip(*self._uncertainties_pct, strict=True))))

    @property
    def is_over(self) -> bool:
        """Whether the last look is reached, or all that is made up for is used up."""
        most, counting = self._looks[-1], self.counting
        spare = most // _SPARE_SHARE + min(self.complete - counting, most)
        return counting >= most or self._measured >= most + spare

    def looks_now(self) -> bool:
        """Whether a look is reached that was not asked at yet; it then was."""
        due = sum(one <= self.counting for one in self._looks)
        is_new, self._asked = due > self._asked, max(due, self._asked)
        return is_new


def _uncertainty_pct(run: Run) -> float | None:
    headline = run.headline
    return uncertainty_pct(headline.values_ms) if headline and len(headline) else None


def is_given_up(sides: Sides) -> bool:
    """Whether a side's processes have failed too often in a row."""
    return any(map(_is_hopeless, sides))


def _may_end(pacing: Pacing, tally: _Tally, sides: Sides) -> bool:
    if any(runs[-1].outcome.kind is not OutcomeKind.OK for runs in sides):
        return False
    if tally.complete == 1 and pacing.is_vain(sides):
        return True
    return tally.looks_now() and pacing.decided(sides)


def _of_round(job: Job, number: int) -> Job:
    """Return the job as the round does it: what is no timing is done once."""
    return job if number == 0 else replace(job, layer_profile=False, rebuild=False)


def _process(job: Job, turn: Turn, sink: Sink, command: str | None, watch: TurnWatcher) -> Run:
    ended: list[Run] = []

    def keep(run: Run) -> None:
        ended.append(replace(run, turn=turn))
        sink(ended[0])

    watcher = Watcher(
        started=lambda _, one: watch.started(turn, one),
        progressed=lambda _, progress: watch.progressed(turn, progress),
    )
    run_jobs((job,), keep, command=command, watcher=watcher)
    return ended[0]


def _is_hopeless(runs: Sequence[Run]) -> bool:
    last = runs[-GIVE_UP_AFTER:]
    failed = (run.outcome.kind is not OutcomeKind.OK for run in last)
    return len(last) == GIVE_UP_AFTER and all(failed)
