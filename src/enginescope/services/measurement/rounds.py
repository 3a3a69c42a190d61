"""Rounds of fresh processes: jobs as the sides of an experiment of the judge, each run stored."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Protocol

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.core.signals import deferred_signals
from enginescope.judge.comparison.looks import looks_up_to as looks_up_to
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.experiment import (
    Ended,
    Entry,
    Experiment,
    Measured,
    Position,
    Rules,
    Standing,
    is_hopeless,
)
from enginescope.judge.samples import frozen
from enginescope.records.progress import COMPARISON_TAG, RoundPlan, RoundPosition, side_label
from enginescope.records.run.job import Watcher
from enginescope.records.run.rounds import comparison_id
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.services.measurement.jobs import JobRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.store.machine_records import FLOORS, SPREADS

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
    from enginescope.records.run.job import Job
    from enginescope.runner.session import Sink
    from enginescope.store.archive import Store

Sides = tuple[tuple[Run, ...], ...]


class RunJobs(Protocol):
    """Runs jobs as `run_jobs` does."""

    def __call__(
        self, jobs: Sequence[Job], sink: Sink, *, command: str | None, watcher: Watcher | None
    ) -> tuple[Run, ...]:
        """Return the runs of `jobs`."""


class Pacing(Record, frozen=True, kw_only=True):
    """How many rounds, in which order, and when they may end.

    Attributes:
        stands: Asked after each of `looks`, with the runs of each side so far.
        looks: Rounds that count after which it is asked; the rounds end with the last.
        seed: Of the orders.
        is_vain: Asked after the first whole round: whether no number of them would tell anything.
        max_time_s: No round begins that would probably end later, once `min_rounds` are measured.
        builds_each: Whether jobs that are rebuilt are rebuilt in every round.
        profiles_each: Whether jobs that time their layers do so in every round.
        run: Runs the job of a process; by default `run_jobs`.
        text: What a process is called while it runs; by default it is reported as a turn.
        take: Gets the label of the side and the run with its outputs before it is stored without.
        plan: Recorded with each run, so that the comparison can be continued.
        recorded: Runs of the comparison that is continued, of each side in the order of rounds.
    """

    stands: Callable[[Sides], Standing] = lambda _sides: Standing.GO_ON
    is_vain: Callable[[Sides], bool] = lambda _sides: False
    looks: tuple[int, ...] = LOOKS
    seed: int = 0
    max_time_s: float | None = None
    min_rounds: int = 1
    builds_each: bool = False
    profiles_each: bool = False
    run: RunJobs | None = None
    text: Callable[[RoundPosition], str] | None = None
    take: Callable[[str, Run], None] | None = None
    plan: RoundPlan | None = None
    recorded: Sides = ()


class JobRounds:
    """Jobs as the sides of an experiment; each measurement is a fresh process.

    Every run is stored as its process ends, with its `RoundPosition`, the tags and the commit of
    the request. A sequence of jobs that shrinks (a search) calls `round` itself.

    Args:
        jobs: One for each side; 2 to 26 where `run` compares them.
        spare: How many processes may run again since they failed or were disturbed.

    Attributes:
        comparison: Of the positions; the tag of the runs is ``cmp-`` and this id.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        pacing: Pacing,
        request: JobRequest,
        store: Store,
        observer: MeasurementObserver,
        *,
        spare: int | None = None,
    ) -> None:
        from enginescope.store.archive import RunKeeper

        self._jobs, self._pacing, self._request = jobs, pacing, request
        self._observer, self._keeper = observer, RunKeeper(store)
        self.comparison = comparison_id(pacing.recorded) or secrets.token_hex(4)
        self.experiment: Experiment[Run] = Experiment(
            len(jobs),
            self._measure,
            seed=pacing.seed,
            spare=spare,
            recorded=_entries(pacing.recorded),
        )

    @property
    def sides(self) -> Sides:
        """The runs of each side so far, repeated ones included."""
        return tuple(map(self.experiment.of_side, range(len(self._jobs))))

    @property
    def not_stored(self) -> str | None:
        """Which runs are not stored, and why."""
        return self._keeper.message

    def run(self) -> Ended:
        """Measure rounds until the pacing ends them.

        Raises:
            UsageError: Fewer than two sides, or more than there are letters.
        """
        if not 1 < len(self._jobs) <= len(ascii_uppercase):
            raise UsageError(
                f"{len(self._jobs)} side{'' if len(self._jobs) == 1 else 's'} to compare",
                hint=f"2 to {len(ascii_uppercase)} models or --on",
            )
        pacing = self._pacing
        rules: Rules[Run] = Rules(
            looks=pacing.looks,
            stands=lambda _: pacing.stands(self.sides),
            is_vain=lambda _: pacing.is_vain(self.sides),
            max_time_s=pacing.max_time_s,
            min_rounds=pacing.min_rounds,
        )
        ended = self.experiment.run(
            rules, lambda tally: self._observer.round_ended(tally.measured, tally.counting)
        )
        if self.experiment.interruption is not None:
            raise self.experiment.interruption  # every run is stored; the verb says how to go on
        return ended

    def round(
        self, active: Sequence[int] | None = None, deadline: float | None = None
    ) -> dict[int, Entry[Run]]:
        """Measure each of these sides once more, as `Experiment.run_round`."""
        return self.experiment.run_round(active, deadline)

    def _measure(self, position: Position) -> Measured[Run]:
        from enginescope.runner.session import run_jobs

        turn = RoundPosition(
            comparison=self.comparison,
            side=side_label(position.side),
            round=position.round,
            place=position.place,
            attempt=position.attempt,
            plan=self._pacing.plan,
        )
        job = _of_round(self._jobs[position.side], position.round, self._pacing)
        ended: list[Run] = []

        @deferred_signals()
        def keep(run: Run) -> None:
            ended.append(self._stored(replace(run, turn=turn)))

        if self._pacing.text is not None:
            watcher = self._observer.process_watcher(self._pacing.text(turn))
        else:
            watcher = self._observer.turn_watcher(turn)
        run = self._pacing.run or run_jobs
        run((job,), keep, command=self._request.command, watcher=watcher)
        return measured_of(ended[0])

    def _stored(self, run: Run) -> Run:
        assert run.turn is not None
        if self._pacing.take is not None:
            self._pacing.take(run.turn.side, run)
            run = replace(run, answers=())
        named = run.of_commit(self._request.commit)
        self._keeper.keep(named, (*self._request.tags, f"{COMPARISON_TAG}{self.comparison}"))
        self._observer.run_ended(named, is_stored=named not in self._keeper.lost)
        return named


#: Of a process that went well and timed nothing.
_UNTIMED = frozen(())


def measured_of(run: Run) -> Measured[Run]:
    """Return a run as a measurement of the judge."""
    is_ok = run.outcome.kind is OutcomeKind.OK
    headline = run.headline if is_ok else None
    return Measured(
        source=run,
        values=headline.values_ms if headline else _UNTIMED if is_ok else None,
        failure=None if is_ok else run.outcome.message or run.outcome.kind.value,
        is_final=run.outcome.kind is OutcomeKind.UNSUPPORTED,
    )


def is_given_up(runs: Sequence[Run]) -> bool:
    """Whether the last processes of a side failed, or one of them is not supported."""
    return is_hopeless([measured_of(run) for run in runs])


def _entries(recorded: Sides) -> tuple[Entry[Run], ...]:
    return tuple(
        Entry(
            position=Position(
                side=side,
                round=run.turn.round,
                place=run.turn.place,
                attempt=run.turn.attempt,
            ),
            measured=measured_of(run),
        )
        for side, runs in enumerate(recorded)
        for run in runs
        if run.turn is not None
    )


def _of_round(job: Job, number: int, pacing: Pacing) -> Job:
    """Return the job as the round does it: what is not a timing is done once."""
    if number == 0:
        return job
    return replace(
        job,
        layer_profile=job.layer_profile and pacing.profiles_each,
        rebuild=job.rebuild and pacing.builds_each,
    )


class InterleavedRequest(JobRequest, frozen=True, kw_only=True):
    """Jobs to compare; the first is the base.

    Attributes:
        rounds: Maximum number of rounds; 60 by default.
        continues: Continue the newest recorded comparison of these jobs.
    """

    rounds: int | None = None
    terms: CompareConfig = CompareConfig()
    continues: bool = False


class InterleavedResult(Record, frozen=True, kw_only=True):
    """Result of interleaved rounds.

    Attributes:
        terms: What it was checked against.
        comparison: `None`: no process of some side succeeded.
        ended: Why the rounds ended.
        is_stored: Whether every run is stored.
    """

    sides: tuple[MeasuredSide, ...]
    terms: CompareConfig
    comparison: MeasuredComparison | None
    ended: Ended
    is_stored: bool

    @property
    def failed(self) -> tuple[Run, ...]:
        """The last run of each side without a success."""
        return tuple(side.runs[-1] for side in self.sides if not side.measured)

    @property
    def is_ok(self) -> bool:
        """Whether all sides were measured, no side was given up and every run is stored."""
        is_complete = self.ended is not Ended.GIVEN_UP
        return self.comparison is not None and is_complete and self.is_stored


def run_rounds(
    jobs: tuple[Job, ...],
    looks: tuple[int, ...],
    terms: CompareConfig,
    request: JobRequest,
    store: Store,
    observer: MeasurementObserver,
    *,
    pacing: Pacing | None = None,
    is_decided: Callable[[MeasuredComparison], bool] = lambda interim: interim.is_final,
) -> InterleavedResult:
    """Measure until it is decided or until the last look; every run is stored as it ends.

    Args:
        pacing: What runs a process, whether every round builds, and what was recorded before.
        is_decided: Asked at each look.
    """
    from enginescope.analysis.verdicts.measured_sides import compare_sides
    from enginescope.services.verdicts.compare_inputs import named_sides

    floors = FLOORS.usable(store.path, observer.warn)
    terms = replace(terms, spreads=SPREADS.usable(store.path, observer.warn))

    def compared(sides: Sides) -> MeasuredComparison:
        return compare_sides(named_sides(sides), terms, floors)

    def stands(sides: Sides) -> Standing:
        interim = compared(sides)
        observer.looked(interim, _complete_rounds(interim))
        return Standing.DECIDED if is_decided(interim) else Standing.GO_ON

    pacing = replace(
        pacing or Pacing(),
        stands=stands,
        is_vain=lambda sides: compared(sides).is_vain,
        looks=looks,
        seed=jobs[0].workload.seed,
    )
    rounds, ended = keep_rounds(jobs, pacing, request, store, observer)
    named = named_sides(rounds.sides)
    return InterleavedResult(
        sides=named,
        terms=terms,
        comparison=compared(rounds.sides) if all(side.measured for side in named) else None,
        ended=ended,
        is_stored=rounds.not_stored is None,
    )


def keep_rounds(
    jobs: tuple[Job, ...],
    pacing: Pacing,
    request: JobRequest,
    store: Store,
    observer: MeasurementObserver,
) -> tuple[JobRounds, Ended]:
    """Measure jobs in rounds until the pacing ends them; warn of runs that are not stored."""
    observer.rounds_started(jobs, pacing.looks[-1])
    rounds = JobRounds(jobs, pacing, request, store, observer)
    ended = rounds.run()
    if rounds.not_stored is not None:
        observer.warn(rounds.not_stored)
    return rounds, ended


def successful(result: InterleavedResult) -> MeasuredComparison:
    """Return the comparison.

    Raises:
        UnsupportedError, BackendError: No process of a side succeeded.
    """
    for run in result.failed:
        raise_unless_ok(run)
    assert result.comparison is not None
    return result.comparison


def _complete_rounds(comparison: MeasuredComparison) -> int:
    rounds = [{run.turn.round for run in side.measured if run.turn} for side in comparison.sides]
    return len(set.intersection(*rounds))
