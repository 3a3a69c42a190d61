"""The confirmation: the leader against the default, with builds and inputs of its own."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from enginescope.analysis.ladder.figures import counting_rounds
from enginescope.analysis.tune.halving import confirmed
from enginescope.analysis.verdicts.carried_notices import carried_notices
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import LOOKS
from enginescope.judge.experiment import Ended, standing
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.run.job import Job
from enginescope.records.run.rounds import whole_rounds
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.records.verdict.tune import Confirmation
from enginescope.services.measurement.rounds import Pacing, keep_rounds, looks_up_to
from enginescope.services.tune.request import TuneObserver, TuneRequest
from enginescope.services.tune.search import Search, value_of
from enginescope.store.archive import Store

if TYPE_CHECKING:
    from enginescope.services.measurement.rounds import Sides


def confirm(
    request: TuneRequest, search: Search, store: Store, observer: TuneObserver, begin: float
) -> tuple[Confirmation | None, tuple[Notice, ...]]:
    """Measure the leader of a search and the default anew, interleaved.

    Every process has inputs of another seed than in the search, and builds its engine anew where
    the backend builds one.

    Args:
        begin: When the whole began, on the performance counter.

    Returns:
        confirmation: ``None`` if the maximum time leaves none for the fewest rounds.
        notices: Warnings about its figures.
    """
    leader = search.leader
    assert leader is not None
    seed = request.workload.seed + 1
    jobs = tuple(_fresh(one.job, seed) for one in (search.default, leader))
    rounds = request.rounds
    if request.max_time_s is not None:
        left_s = request.max_time_s - (perf_counter() - begin)
        rounds = min(rounds, int(left_s / search.round_s(leader)))
    if rounds < LOOKS[0]:
        return None, ()
    pacing = Pacing(
        stands=lambda sides: standing(_read(sides, request).kind),
        looks=looks_up_to(rounds),
        seed=seed,
        builds_each=True,
    )
    measured, ended = keep_rounds(jobs, pacing, request.jobs(), store, observer)
    sides = measured.sides
    confirmation = replace(
        _failed(sides) if ended is Ended.GIVEN_UP else _read(sides, request),
        seed=seed,
        evidence=evidence_level(*sides),
        comparison=measured.comparison,
    )
    named = MeasuredComparison(sides=_named(sides), pairs=(), threshold_pct=request.threshold_pct)
    return confirmation, (*measured.notices(), *carried_notices(named))


def _named(sides: Sides) -> tuple[MeasuredSide, ...]:
    labels = ("the default", "the leader")
    return tuple(
        MeasuredSide(label=label, name=label, runs=runs)
        for label, runs in zip(labels, sides, strict=True)
    )


def _fresh(job: Job, seed: int) -> Job:
    return replace(job, workload=replace(job.workload, seed=seed), rebuild=True)


def _read(sides: Sides, request: TuneRequest) -> Confirmation:
    """Return what the rounds say in which no process was disturbed."""
    counting = counting_rounds(sides)
    rows = [row for row in whole_rounds(sides) if row[0].turn and row[0].turn.round in counting]
    default, candidate = (
        [value for row in rows if (value := value_of(row[side], request.metric)) is not None]
        for side in range(len(sides))
    )
    if not default or len(default) != len(candidate):
        return _failed(sides)
    is_rate = request.metric == "throughput"
    return confirmed(default, candidate, request.threshold_pct, higher_is_better=is_rate)


def _failed(sides: Sides) -> Confirmation:
    return Confirmation(
        kind=VerdictKind.INCONCLUSIVE,
        reason=Reason.NO_INTERVAL,
        why=next((_failure(run) for runs in sides for run in runs[-1:] if _is_bad(run)), None)
        or "its runs have no figures",
    )


def _is_bad(run: Run) -> bool:
    return run.outcome.kind is not OutcomeKind.OK


def _failure(run: Run) -> str:
    return f"{run.job.backend} failed: {run.outcome.message or run.outcome.kind.value}"
