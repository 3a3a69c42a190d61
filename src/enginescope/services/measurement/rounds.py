"""Rounds of fresh processes: jobs as the sides of an experiment of the judge, each run stored."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from string import ascii_uppercase
from time import perf_counter
from typing import Annotated, Any, Protocol

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredSide,
    compare_sides,
)
from enginescope.core.errors import UsageError
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.looks import LOOKS, THRESHOLD_PCT, Tally
from enginescope.judge.comparison.looks import looks_up_to as looks_up_to
from enginescope.judge.comparison.steady_rounds import disturbances
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
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted, format_span
from enginescope.records.progress import COMPARISON_TAG, RoundPlan, RoundPosition, side_label
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.rounds import (
    comparison_id,
    measured_of,
    uncertainties_of,
    whole_rounds,
)
from enginescope.records.run.run import Run
from enginescope.runner import session
from enginescope.runner.session import Sink
from enginescope.services.declared import Param, unflagged
from enginescope.services.measurement.jobs import (
    LEAST_ROUNDS,
    JobRequest,
    MaximumRounds,
    raise_unless_ok,
)
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import Sides, recorded_rounds
from enginescope.services.store_access import made_now
from enginescope.services.verdicts.compare_inputs import named_sides
from enginescope.store.archive import RunKeeper, Store
from enginescope.store.machine_records import FLOORS, SPREADS


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
        text: What a process is called while it runs, before the time that is left; by default it is
            reported as a turn.
        take: Gets the label of the side and the run with its outputs before it is stored without.
        plan: Recorded with each run, so that the comparison can be continued.
        recorded: Runs of the comparison that is continued, of each side in the order of rounds.
        software: Versions that other Pythons have now, by the name of their environment.
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
    software: Mapping[str, Mapping[str, str]] = {}


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
        self._jobs, self._pacing, self._request = jobs, pacing, request
        self._begin = perf_counter()
        self._observer, self._keeper = observer, RunKeeper(store)
        #: Of the jobs, all runs that were recorded before.
        self.recorded = pacing.recorded
        if request.continues and pacing.plan is None:
            self.recorded = recorded_rounds(jobs, store, observer, pacing.software)
        self.ended: Ended | None = None
        self._has_round = False
        self.comparison = comparison_id(self.recorded) or secrets.token_hex(4)
        self.experiment: Experiment[Run] = Experiment(
            len(jobs),
            self._measure,
            seed=pacing.seed,
            spare=spare,
            recorded=_entries(self.recorded),
        )
        self._waiting = list(self.experiment.rows())

    @property
    def sides(self) -> Sides:
        """The runs of each side so far, repeated ones included."""
        return _sides_of(self.experiment)

    @property
    def not_stored(self) -> str | None:
        """Which runs are not stored, and why."""
        return self._keeper.message

    def run(self) -> Ended:
        """Measure rounds until the pacing ends them."""
        if len(self._jobs) > len(ascii_uppercase):
            hint = f"2 to {len(ascii_uppercase)} models or `on`"
            raise UsageError(f"{len(self._jobs)} sides to compare", hint=hint)
        pacing = self._pacing
        rules: Rules[Run] = Rules(
            looks=pacing.looks,
            stands=lambda so_far: pacing.stands(_sides_of(so_far)),
            is_vain=lambda so_far: pacing.is_vain(_sides_of(so_far)),
            max_time_s=self._max_time_s,
            min_rounds=pacing.min_rounds,
        )
        self.ended = self.experiment.run(rules, self._round_ended)
        if self.experiment.interruption is not None:
            self._observer.interrupted(self.experiment.interruption)
        return self.ended

    def _round_ended(self, tally: Tally) -> None:
        left = self.experiment.left_s(tally.looks, tally.counting)
        left_s = left[1] if left else None
        if left_s is not None and self._max_time_s is not None:
            left_s = min(left_s, max(0.0, self._max_time_s - (perf_counter() - self._begin)))
        self._observer.round_ended(tally.measured, tally.counting, left_s)

    @property
    def _max_time_s(self) -> float | None:
        own = self._pacing.max_time_s
        return self._request.max_time_s if own is None else own

    def notices(self) -> Iterator[Notice]:
        """Yield that the rounds ended before the last one was measured, and why."""
        rounds, most = len(self.experiment.whole_rows()), self._pacing.looks[-1]
        if self.ended is Ended.INTERRUPTED:
            yield interrupted_notice(f"{rounds} of {counted(most, 'round')}")
        elif self.ended is Ended.LATE:
            message = f"the maximum time was over after {rounds} of {counted(most, 'round')}"
            evidence = {"rounds": rounds, "most": most}
            yield Notice(code="I-SHORT-SEARCH", message=message, evidence=evidence)

    def report_fields(self, counting: int) -> dict[str, Any]:
        """Return the fields of a `RoundsReport` with so many rounds that count, but for notices."""
        return {
            "rounds": counting,
            "measured_rounds": len(self.experiment.whole_rows()),
            "evidence": evidence_level(*self.sides),
            "comparison": self.comparison,
            **made_now(self._request.command),
        }

    def round(
        self, active: Sequence[int] | None = None, deadline: float | None = None
    ) -> dict[int, Entry[Run]]:
        """Measure each of these sides once more, as `Experiment.run_round`.

        Recorded rounds come first. Nothing is returned of a round that is interrupted, if there is
        a whole one before it.
        """
        while self._waiting:
            row = self._waiting.pop(0)
            if set(row) >= set(range(len(self._jobs)) if active is None else active):
                self._has_round = True
                return row
        if self.ended is Ended.INTERRUPTED:
            return {}
        try:
            row = self.experiment.run_round(active, deadline)
        except (KeyboardInterrupt, SystemExit) as error:
            if not self._has_round:
                raise
            self.ended = Ended.INTERRUPTED
            self._observer.interrupted(error)
            return {}
        self._has_round = True
        return row

    def _left_text(self, turn: RoundPosition) -> str:
        """Return ``, at most 40 s left`` of all rounds; nothing before the first has ended."""
        seconds = [
            sum(entry.seconds or 0.0 for entry in row.values()) for row in self.experiment.rows()
        ]
        before = [each for each in seconds[: turn.round] if each]
        if not before:
            return ""
        rounds = self._pacing.looks[-1] - turn.round
        left_s = median(before) * rounds - sum(seconds[turn.round :])
        if self._max_time_s is not None:
            left_s = min(left_s, self._max_time_s - (perf_counter() - self._begin))
        return f", at most {format_span(max(0.0, left_s))} left"

    def _measure(self, position: Position) -> Measured[Run]:
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
            text = f"{self._pacing.text(turn)}{self._left_text(turn)}"
            watcher = self._observer.process_watcher(text)
        else:
            watcher = self._observer.turn_watcher(turn)
        run = self._pacing.run or session.run_jobs
        run((job,), keep, command=self._request.command, watcher=watcher)
        return measured_of(ended[0])

    def _stored(self, run: Run) -> Run:
        assert run.turn is not None
        if self._pacing.take is not None:
            self._pacing.take(run.turn.side, run)
            run = replace(run, answers=())
        named = self._request.labelled(run)
        self._keeper.keep(named, (*self._request.tags, f"{COMPARISON_TAG}{self.comparison}"))
        self._observer.run_ended(named, is_stored=named not in self._keeper.lost)
        return named


def interrupted_notice(what: str) -> Notice:
    """Return that an answer comes from what was measured before an interrupt."""
    message = f"interrupted after {what}: what is not decided is inconclusive"
    return Notice(code="W-INTERRUPTED", message=message, evidence={"measured": what})


def used_rounds(sides: Sequence[Sequence[Run]]) -> tuple[Sides, tuple[Notice, ...]]:
    """Return the rounds whose figures are used: those that count, or all where too few do.

    A round counts in which no process failed or was disturbed, as `disturbances` has it; of a
    process that was measured again, the last attempt. Where all are used, a notice says so.
    """
    pairs = [(row, uncertainties_of(row)) for row in whole_rounds(sides)]
    good = [(row, known) for row, known in pairs if known is not None]
    disturbed = disturbances([*zip(*(known for _, known in good), strict=True)])
    rows = tuple(row for row, _ in good)
    counting = tuple(row for row, does in zip(rows, disturbed.counts, strict=True) if does)
    count = sum(disturbed.alone) + disturbed.several
    is_all = count == len(rows) and disturbed.unstable is None
    if not count or (len(counting) >= LEAST_ROUNDS and not is_all):
        return counting, ()
    notice = Notice(
        code="W-DISTURBED-ROUNDS",
        message=f"{count} of {counted(len(rows), 'round')} were disturbed, and also when measured "
        f"again; fewer than {LEAST_ROUNDS} others count, so all are used",
        evidence={"disturbed": count, "rounds": len(rows), "unstable": True},
    )
    return rows, (notice,)


def is_given_up(runs: Sequence[Run]) -> bool:
    """Whether the last processes of a side failed, or one of them is not supported."""
    return is_hopeless([measured_of(run) for run in runs])


def _sides_of(experiment: Experiment[Run]) -> Sides:
    return tuple(map(experiment.of_side, range(experiment.sides)))


def _entries(recorded: Sides) -> tuple[Entry[Run], ...]:
    """Return recorded runs as entries; of runs at the same time, the first one."""
    entries: dict[Position, Entry[Run]] = {}
    for side, runs in enumerate(recorded):
        for run in runs:
            if run.turn is not None:
                position = Position(
                    side=side, round=run.turn.round, place=run.turn.place, attempt=run.turn.attempt
                )
                entries.setdefault(position, Entry(position=position, measured=measured_of(run)))
    return tuple(entries.values())


def _of_round(job: Job, number: int, pacing: Pacing) -> Job:
    """Return the job as the round does it: what is not a timing is done once."""
    if number == 0:
        return job
    return replace(
        job,
        shapes=job.shapes and replace(job.shapes, seed=job.shapes.seed + number),
        load=job.load and replace(job.load, seed=job.load.seed + number),
        layer_profile=job.layer_profile and pacing.profiles_each,
        rebuild=job.rebuild and pacing.builds_each,
    )


class InterleavedRequest(JobRequest, frozen=True, kw_only=True):
    """Jobs to compare; the first is the base."""

    models: Annotated[tuple[Path, ...], unflagged("ONNX models or engines.")] = ()
    rounds: MaximumRounds = None
    threshold_pct: Annotated[float, Param("Smaller differences do not matter.")] = THRESHOLD_PCT
    across: Annotated[Sequence[str], Param("Conditions that differ on purpose.")] = ()
    continues: Annotated[bool, Param("Continue the newest comparison of these jobs.")] = False
    max_time_s: Annotated[
        float | None, Param("Maximum total time; measures fewer rounds if needed.", above=0)
    ] = None

    @property
    def terms(self) -> CompareConfig:
        return CompareConfig(threshold_pct=self.threshold_pct, across=tuple(self.across))


class InterleavedResult(Record, frozen=True, kw_only=True):
    """Interleaved rounds: what they were checked against, why they ended, whether all are stored.

    There is no `comparison` where no process of some side succeeded.
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
    """Measure until it is decided, as asked at each look, or until the last look.

    Every run is stored as it ends.
    """
    floors = FLOORS.usable(store.path, observer.warn)
    terms = replace(terms, spreads=SPREADS.usable(store.path, observer.warn))

    def compared(sides: Sides) -> MeasuredComparison:
        return compare_sides(named_sides(sides), terms, floors)

    def stands(sides: Sides) -> Standing:
        interim = compared(sides)
        rounds = [{run.turn.round for run in side.measured if run.turn} for side in interim.sides]
        observer.looked(interim, len(set.intersection(*rounds)))
        return Standing.DECIDED if is_decided(interim) else Standing.GO_ON

    pacing = replace(
        pacing or Pacing(),
        stands=stands,
        is_vain=lambda sides: compared(sides).is_vain,
        looks=looks,
        seed=jobs[0].workload.seed,
    )
    rounds, ended = keep_rounds(jobs, pacing, request, store, observer)
    if ended is Ended.LATE:
        for notice in rounds.notices():
            observer.warn(notice.message)
    named = named_sides(rounds.sides)
    comparison = compared(rounds.sides) if all(side.measured for side in named) else None
    is_stored = rounds.not_stored is None
    return InterleavedResult(
        sides=named, terms=terms, comparison=comparison, ended=ended, is_stored=is_stored
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
    for run in result.failed:
        raise_unless_ok(run)
    assert result.comparison is not None
    return result.comparison
