"""Continue an interleaved comparison that is inconclusive or was interrupted.

The rounds that were recorded are looked at again as they were: after the same rounds, with the same
threshold and the same confidence. The order of the sides goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, compare_sides
from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.looks import MOST_ROUNDS, Tally, looks_up_to
from enginescope.judge.experiment import Ended
from enginescope.records.progress import RoundPlan
from enginescope.records.run.job import Job
from enginescope.records.run.rounds import comparison_id, plan_of, uncertainties_of, whole_rounds
from enginescope.records.run.run import Run
from enginescope.render.verdicts.verdict_phrases import comparison_tag, side_labels
from enginescope.services.measurement.jobs import JobRequest
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import (
    Sides,
    change_since,
    differences_of_jobs,
    newest_recorded,
)
from enginescope.services.measurement.rounds import (
    InterleavedRequest,
    InterleavedResult,
    Pacing,
    run_rounds,
    successful,
)
from enginescope.services.store_access import own_command, place_of, writable_store
from enginescope.services.verdicts.compare_inputs import named_sides, sides_of_comparison
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.machine_records import FLOORS, SPREADS

Compared = Callable[[Sides], MeasuredComparison]
IsDecided = Callable[[MeasuredComparison], bool]


class ContinueRequest(Record, frozen=True, kw_only=True):
    """The comparison to continue: by its id, its tag, or one of its runs.

    It goes on until so many `rounds` count; by default one look further, where all are used up.
    """

    name: str
    rounds: int | None = None
    store: StorePlace | None = None
    command: str | None = None


def continue_rounds(request: ContinueRequest, observer: MeasurementObserver) -> InterleavedResult:
    """Measure more rounds of a recorded comparison; none where it is decided."""
    store = writable_store(request.store)
    sides = sides_of_comparison((request.name,), store, observer.warn)
    recorded = tuple(side.runs for side in sides)
    return continue_sides(recorded, request.rounds, request.command, store, observer)


def continue_jobs(
    jobs: Sequence[Job], request: InterleavedRequest, store: Store, observer: MeasurementObserver
) -> InterleavedResult:
    """Measure more rounds of the newest recorded comparison of `jobs`."""
    recorded = newest_recorded(
        jobs, store, observer, lambda run, _job: bool(run.turn and run.turn.plan)
    )
    if not recorded:
        what = "no comparison of these models and backends to continue"
        hint = "without `continue`, bench --compare begins one; runs list shows what is stored"
        raise UsageError(what, why=f"in {store.place}", hint=hint)
    tag = comparison_tag(comparison_id(recorded) or "")
    differing = [
        f"{name} of {label}: {before} then, {now} now"
        for label, job, (run, *_) in zip(side_labels(len(jobs)), jobs, recorded, strict=True)
        for name, before, now in differences_of_jobs(run.job, job)
    ]
    plan = _plan(recorded)
    terms = request.terms
    if (terms.threshold_pct, terms.across) != (plan.threshold_pct, plan.across):
        then = f"{plan.threshold_pct:g} % {','.join(plan.across)}".strip()
        now = f"{terms.threshold_pct:g} % {','.join(terms.across)}".strip()
        differing.append(f"threshold and across: {then} then, {now} now")
    if differing:
        raise _refused(tag, "; ".join(differing))
    return continue_sides(
        recorded,
        request.rounds,
        request.command,
        store,
        observer,
        is_locked=request.clock is not None,
        max_time_s=request.max_time_s,
    )


def continue_sides(
    recorded: Sides,
    rounds: int | None,
    command: str | None,
    store: Store,
    observer: MeasurementObserver,
    *,
    is_locked: bool = False,
    max_time_s: float | None = None,
    is_decided: IsDecided = lambda interim: interim.is_final,
) -> InterleavedResult:
    """Measure more rounds of a comparison's sides, as `continue_rounds`; none if `is_decided`."""
    plan, tag = _plan(recorded), comparison_tag(comparison_id(recorded) or "")
    spreads = SPREADS.usable(store.path, observer.warn)
    terms = CompareConfig(threshold_pct=plan.threshold_pct, across=plan.across, spreads=spreads)
    floors = FLOORS.usable(store.path, observer.warn)

    def compared(sides: Sides) -> MeasuredComparison:
        return compare_sides(named_sides(sides), terms, floors)

    looks, ended = _standing(recorded, plan, compared, is_decided)
    observer.rounds_continued(tag, len(whole_rounds(recorded)), is_decided=ended)
    if ended:
        return InterleavedResult(
            sides=named_sides(recorded),
            terms=terms,
            comparison=compared(recorded),
            ended=Ended.DECIDED,
            is_stored=True,
        )
    while rounds is not None and looks[-1] < rounds:
        looks = (*looks, 2 * looks[-1])
    if looks[-1] > max(MOST_ROUNDS, plan.rounds):
        why = f"the next look would be after {looks[-1]:,} rounds, more than {MOST_ROUNDS:,}"
        raise UsageError(f"{tag} cannot be continued", why=why)
    change = change_since(recorded, is_locked=is_locked)
    if change is not None:
        raise _refused(tag, change)
    first = [side[0] for side in recorded]
    tags = tuple(one for one in first[0].tags if one != tag)
    return run_rounds(
        tuple(replace(run.job, engine=None) for run in first),
        looks,
        terms,
        JobRequest(tags=tags, max_time_s=max_time_s, command=command),
        store,
        observer,
        pacing=Pacing(plan=plan, recorded=recorded),
        is_decided=is_decided,
    )


def _standing(
    recorded: Sides, plan: RoundPlan, compared: Compared, is_decided: IsDecided
) -> tuple[tuple[int, ...], bool]:
    tally = Tally(looks_up_to(plan.rounds))
    upto: list[tuple[Run, ...]] = []
    for runs in whole_rounds(recorded):
        while tally.is_over:
            tally.extend()
        upto.append(runs)
        uncertainties_pct = uncertainties_of(runs)
        tally.add(uncertainties_pct)
        is_first = tally.complete == 1 and uncertainties_pct is not None
        if is_first or tally.take_look() or tally.is_over:
            interim = compared(tuple(zip(*upto, strict=True)))
            is_open = tally.complete == 1 or (tally.is_early and not interim.is_final)
            if (not is_open and is_decided(interim)) or interim.is_vain:
                return tally.looks, True
    if tally.is_over:
        tally.extend()
    return tally.looks, False


def _plan(recorded: Sides) -> RoundPlan:
    plan = plan_of(recorded)
    if plan is None:
        raise _refused(
            comparison_tag(comparison_id(recorded) or ""),
            "its looks are not recorded: noise, upgrade or an earlier version made it",
            hint="enginescope bench A B --compare begins a new one",
        )
    return plan


def _refused(tag: str, why: str, hint: str | None = None) -> UsageError:
    hint = hint or "undo the change, or begin a new comparison: enginescope bench A B --compare"
    return UsageError(f"{tag} cannot be continued", why=why, hint=hint)


def continue_comparison(
    comparison: str, *, rounds: int | None = None, store: str | PathLike[str] | None = None
) -> MeasuredComparison:
    """Measure more rounds of an interleaved comparison that is inconclusive or was interrupted.

    This is ``compare ID --continue``. All looks together err in at most 5 % of comparisons, however
    often this is called. A comparison that is decided is returned as it is.

    Args:
        comparison: Its id, its tag, or the beginning of the id of one of its runs.
        rounds: Add looks until at least so many rounds may count. By default an interrupted
            comparison keeps its looks, and an inconclusive one gets twice its rounds.
        store: Where the runs are stored; by default in the store of the command line.

    Returns:
        The verdicts, as `compare` gives them.

    Raises:
        UsageError: A model, an engine, the machine or its software is not the same.
        StoreError: There is no such run.
        BackendError: No process of a side succeeded.
    """
    observer = MeasurementObserver()
    request = ContinueRequest(
        name=fspath(comparison), rounds=rounds, store=place_of(store), command=own_command()
    )
    return successful(continue_rounds(request, observer))
