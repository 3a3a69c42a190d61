"""Interleaved sides: rounds of fresh processes, in a random and balanced order.

Every side has one process in every round, so that what drifts from minute to minute, and what two
processes of the same work differ by, meets all sides alike. The store gets each process as a run
with its `RoundPosition`; when to stop is asked of the caller after certain rounds and at no other
time, since each look is a chance to be wrong (`stats.comparison.ratio`).
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from itertools import count
from string import ascii_uppercase
from typing import Protocol

from msgspec.structs import replace

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.records.progress import Progress, RoundPlan, RoundPosition
from enginescope.records.run.job import Job, StopRule, Watcher
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner.session import Sink, run_jobs
from enginescope.stats.comparison.looks import Tally
from enginescope.stats.comparison.looks import looks_up_to as looks_up_to
from enginescope.stats.comparison.ratio import LOOKS
from enginescope.stats.comparison.rounds import comparison_id, uncertainties_of, whole_rounds

#: What a process is timed for where nothing else is asked for. Processes of the same work differ by
#: more than the median of a second is uncertain, so that more of them tell more than longer ones;
#: and a length that the samples have no say in is the same for all sides.
PROCESS_STOP = StopRule(duration_ms=1_000.0, min_iterations=5, precision_pct=None)
#: A side whose processes fail so often in a row is given up, and the comparison with it; one that
#: is not supported, at once.
GIVE_UP_AFTER = 2

Sides = tuple[tuple[Run, ...], ...]


class RunJobs(Protocol):
    """Runs jobs as `run_jobs` does."""

    def __call__(
        self, jobs: Sequence[Job], sink: Sink, *, command: str | None, watcher: Watcher | None
    ) -> tuple[Run, ...]:
        """Return the runs of `jobs`."""


class Pacing(Record, frozen=True, kw_only=True):
    """How many rounds, in which order, and when it may end.

    Attributes:
        decided: Asked after each of `looks`, with the runs of each side so far.
        looks: Rounds that count (`stats.steady_rounds`) after which it is asked; it ends once as
            many rounds are measured as the last has.
        seed: Of the orders.
        is_vain: Asked after the first complete round: whether no number of them would tell
            anything.
        is_late: Asked after every round: whether the time is over.
        builds_each: Whether jobs that are rebuilt are rebuilt in every round.
        profiles_each: Whether jobs that time their layers do so in every round.
        run: Runs the job of a process; by default `run_jobs`.
        plan: Recorded with each run, so that the comparison can be continued.
        recorded: Runs of the comparison that is continued, of each side in the order of rounds.
    """

    decided: Callable[[Sides], bool] = lambda _sides: False
    is_vain: Callable[[Sides], bool] = lambda _sides: False
    is_late: Callable[[Sides], bool] = lambda _sides: False
    looks: tuple[int, ...] = LOOKS
    seed: int = 0
    builds_each: bool = False
    profiles_each: bool = False
    run: RunJobs | None = None
    plan: RoundPlan | None = None
    recorded: Sides = ()


class RoundWatcher(Record, frozen=True, kw_only=True):
    """What is told while rounds run."""

    started: Callable[[RoundPosition, Job], None] = lambda _turn, _job: None
    progressed: Callable[[RoundPosition, Progress], None] = lambda _turn, _progress: None
    round_ended: Callable[[Tally], None] = lambda _tally: None


def run_interleaved(
    jobs: Sequence[Job],
    sink: Sink,
    pacing: Pacing,
    *,
    command: str | None = None,
    watcher: RoundWatcher | None = None,
) -> Sides:
    """Measure every job once a round, each time in a fresh process, until it is decided.

    A process that fails is a run like any other; its round does not count. Nor does a round count
    in which a process was disturbed, unless one side is disturbed more often than chance allows.
    Never more rounds are measured than the last look has. Layers are profiled, and engines rebuilt,
    in the first round alone, unless ``pacing.profiles_each`` and ``pacing.builds_each``.

    Args:
        jobs: One for each side, 2 to 26.
        sink: Gets each run as soon as its process has ended.
        command: The command line to record.

    Returns:
        The runs of each side, round by round.

    Raises:
        UsageError: Fewer than two sides, or more than there are letters.
    """
    if not 1 < len(jobs) <= len(ascii_uppercase):
        raise UsageError(
            f"{len(jobs)} side{'' if len(jobs) == 1 else 's'} to compare",
            hint=f"2 to {len(ascii_uppercase)} models or --on",
        )
    watch = watcher or RoundWatcher()
    draw = random.Random(pacing.seed)  # noqa: S311 - an order to be repeated, no secret
    comparison = comparison_id(pacing.recorded) or secrets.token_hex(4)
    sides: list[list[Run]] = [list(runs) for runs in pacing.recorded] or [[] for _ in jobs]
    tally = Tally(pacing.looks)
    for runs in whole_rounds(pacing.recorded):
        tally.add(uncertainties_of(runs))
        tally.looks_now()
    first = 1 + max((run.turn.round for side in sides for run in side if run.turn), default=-1)
    order: list[int] = []
    for number in count():
        order = _next_order(order, number, len(jobs), draw)
        if number < first:
            continue
        for place, side in enumerate(order):
            turn = RoundPosition(
                comparison=comparison,
                side=ascii_uppercase[side],
                round=number,
                place=place,
                plan=pacing.plan,
            )
            job = _of_round(jobs[side], number, pacing)
            sides[side].append(_process(job, turn, sink, pacing.run or run_jobs, (command, watch)))
        so_far = tuple(map(tuple, sides))
        tally.add(uncertainties_of([runs[-1] for runs in so_far]))
        watch.round_ended(tally)
        if is_given_up(so_far) or tally.is_over or _may_end(pacing, tally, so_far):
            break
        if pacing.is_late(so_far):
            break
    return so_far


def _next_order(before: list[int], number: int, sides: int, draw: random.Random) -> list[int]:
    """Return the order of a round: drawn for each block of as many rounds as sides, then rotated.

    Within a block every side has every place once, so of two sides each goes first in one round of
    two: AB BA or BA AB. A cost of going first then falls on all sides alike.
    """
    if number % sides == 0:
        return draw.sample(range(sides), sides)
    return [*before[1:], before[0]]


def is_given_up(sides: Sides) -> bool:
    """Whether a side is not supported, or its processes have failed too often in a row."""
    return any(map(_is_hopeless, sides))


def _may_end(pacing: Pacing, tally: Tally, sides: Sides) -> bool:
    if any(runs[-1].outcome.kind is not OutcomeKind.OK for runs in sides):
        return False
    if tally.complete == 1 and pacing.is_vain(sides):
        return True
    return tally.looks_now() and pacing.decided(sides)


def _of_round(job: Job, number: int, pacing: Pacing) -> Job:
    """Return the job as the round does it: what is not a timing is done once."""
    if number == 0:
        return job
    return replace(
        job,
        layer_profile=job.layer_profile and pacing.profiles_each,
        rebuild=job.rebuild and pacing.builds_each,
    )


def _process(
    job: Job,
    turn: RoundPosition,
    sink: Sink,
    run: RunJobs,
    recorded: tuple[str | None, RoundWatcher],
) -> Run:
    command, watch = recorded
    ended: list[Run] = []

    def keep(run: Run) -> None:
        ended.append(replace(run, turn=turn))
        sink(ended[-1])

    watcher = Watcher(
        started=lambda _, one: watch.started(turn, one),
        progressed=lambda _, progress: watch.progressed(turn, progress),
    )
    run((job,), keep, command=command, watcher=watcher)
    return ended[0]


def _is_hopeless(runs: Sequence[Run]) -> bool:
    if any(run.outcome.kind is OutcomeKind.UNSUPPORTED for run in runs[-1:]):
        return True
    last = runs[-GIVE_UP_AFTER:]
    failed = (run.outcome.kind is not OutcomeKind.OK for run in last)
    return len(last) == GIVE_UP_AFTER and all(failed)
