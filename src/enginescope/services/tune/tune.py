"""``tune``: which options make a model fastest, and is the winner real?"""

from __future__ import annotations

import math
from time import perf_counter

from enginescope.analysis.tune.halving import confirmed
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.analysis.verdicts.measured_notices import carried_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.experiment import Ended, standing
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Reason, VerdictKind
from enginescope.records.progress import side_label
from enginescope.records.verdict.tune import Confirmation, TuneReport
from enginescope.services.declared import python_function
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import Sides
from enginescope.services.measurement.rounds import Pacing, keep_rounds, looks_up_to, used_rounds
from enginescope.services.store_access import made_now, writable_store
from enginescope.services.tune.alternatives import TuneRequest, alternatives_of
from enginescope.services.tune.outputs import check_outputs
from enginescope.services.tune.search import Search, value_of
from enginescope.store.archive import Store

#: Share of the maximum time in which outputs are checked.
_CHECKING_SHARE = 0.4
_LABELS = ("the default", "the leader")


def tune_options(request: TuneRequest, observer: MeasurementObserver) -> TuneReport:
    """Search for the options that make a model fastest, and measure the winner anew.

    Successive halving over all combinations finds a leader. Fresh builds, processes and inputs
    then compare it with the default; the claim comes from them alone. `batch` and `metric` replace
    the batch and the mode of `workload`.

    Returns:
        ``report.winner`` is the confirmed alternative, or ``None``.

    Raises:
        UsageError: A request that contradicts itself or the model, or no alternative is valid.
        StoreError: The store cannot be written.
        UnsupportedError, BackendError: The default does not run.
    """
    request = replace(request, workload=paced_workload(request.workload))
    store = writable_store(request.store)
    begin = perf_counter()
    alternatives = alternatives_of(request, store)
    most_s = math.inf if request.max_time_s is None else request.max_time_s
    deadline = begin + _CHECKING_SHARE * most_s
    candidates = alternatives.candidates
    outputs = check_outputs(request, candidates, observer.process_started, deadline)
    search = Search(request, candidates, outputs, store, observer, begin)
    search.run()
    leader, confirmation, notices = search.leader, None, list(search.notices())
    if leader is not None and observer.interruption is None:
        confirmation, carried = _confirmed(request, search, store, observer, begin)
        notices += carried
    return TuneReport(
        model=candidates[0].job.subject.name,
        metric=request.metric,
        alternatives=search.outcome(),
        invalid=alternatives.invalid,
        candidate=None if leader is None else leader.number,
        confirmation=confirmation,
        threshold_pct=request.threshold_pct,
        rounds=search.rounds,
        duration_s=perf_counter() - begin,
        comparison=search.comparison,
        unsearched_routes=alternatives.unsearched_routes,
        notices=tuple(notices),
        **made_now(request.command),
    )


def _confirmed(
    request: TuneRequest, search: Search, store: Store, observer: MeasurementObserver, begin: float
) -> tuple[Confirmation | None, tuple[Notice, ...]]:
    """Measure the leader of a search and the default anew, interleaved; or say why not.

    Every process has inputs of another seed than in the search, and builds its engine anew where
    the backend builds one. Nothing is measured if the maximum time leaves too few rounds.
    """
    leader = search.leader
    assert leader is not None
    seed = request.workload.seed + 1
    jobs = tuple(
        replace(job, workload=replace(job.workload, seed=seed), rebuild=True)
        for job in (search.default.job, leader.job)
    )
    rounds = request.rounds
    if request.max_time_s is not None:
        left_s = request.max_time_s - (perf_counter() - begin)
        rounds = min(rounds, int(left_s / search.round_s(leader)))
    if rounds < LOOKS[0]:
        notice = Notice(
            code="W-NOT-CONFIRMED",
            message=f"{request.max_time_s or 0.0:.0f} s leave no time for {LOOKS[0]} rounds of the "
            "leader and the default: it is not confirmed; allow more time",
            evidence={"max_time_s": request.max_time_s},
        )
        return None, (notice,)
    backends = {side_label(at): job.backend for at, job in enumerate(jobs)}
    pacing = Pacing(
        stands=lambda sides: standing(_read(sides, request).kind),
        looks=looks_up_to(rounds),
        seed=seed,
        builds_each=True,
        text=lambda turn: f"confirmation, round {turn.round + 1}, {backends[turn.side]}",
    )
    measured, ended = keep_rounds(jobs, pacing, request.jobs(), store, observer)
    sides = measured.sides
    confirmation = replace(
        _failed(sides) if ended is Ended.GIVEN_UP else _read(sides, request),
        seed=seed,
        evidence=evidence_level(*sides),
        comparison=measured.comparison,
    )
    named = tuple(
        MeasuredSide(label=label, name=label, runs=runs)
        for label, runs in zip(_LABELS, sides, strict=True)
    )
    comparison = MeasuredComparison(sides=named, pairs=(), threshold_pct=request.threshold_pct)
    _, disturbed = used_rounds(sides)
    return confirmation, (*measured.notices(), *disturbed, *carried_notices(comparison))


def _read(sides: Sides, request: TuneRequest) -> Confirmation:
    rows, _ = used_rounds(sides)
    default, candidate = (
        [value for row in rows if (value := value_of(row[side], request.metric)) is not None]
        for side in range(len(sides))
    )
    if not default or len(default) != len(candidate):
        return _failed(sides)
    is_rate = request.metric == "throughput"
    return confirmed(default, candidate, request.threshold_pct, higher_is_better=is_rate)


def _failed(sides: Sides) -> Confirmation:
    failed = next((run for runs in sides for run in runs[-1:] if not run.is_ok), None)
    why = None
    if failed is not None:
        message = failed.outcome.message or failed.outcome.kind.value
        why = f"{failed.job.backend} failed: {message}"
    return Confirmation(
        kind=VerdictKind.INCONCLUSIVE,
        reason=Reason.NO_INTERVAL,
        why=why or "its runs have no figures",
    )


tune = python_function("tune", TuneRequest, tune_options)
