"""Compare jobs by interleaved rounds of fresh processes, until it is decided which is faster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.verdicts.comparability import differences
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS
from enginescope.records.progress import RoundPlan
from enginescope.records.run.job import StopRule, Workload
from enginescope.render.verdicts.verdict_phrases import same_work_text, side_labels
from enginescope.services.declared import File, documented
from enginescope.services.measurement import rounds
from enginescope.services.measurement.continued import continue_jobs
from enginescope.services.measurement.jobs import held_clocks, jobs_of
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import own_command, writable_store

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from enginescope.services.keywords import InterleavedKeywords

#: What a process is timed for where nothing else is asked for. Processes of the same work differ by
#: more than the median of a second is uncertain, so that more of them tell more than longer ones;
#: and a length that the samples have no say in is the same for all sides.
PROCESS_STOP = StopRule(duration_ms=1_000.0, min_iterations=5, precision_pct=None)


def compare_interleaved(
    request: rounds.InterleavedRequest, observer: MeasurementObserver
) -> rounds.InterleavedResult:
    """Measure the jobs of `request` in interleaved rounds, and compare them."""
    if not request.models:
        raise UsageError("no models to compare", hint="name two models, or one and two backends")
    differences((), (), across=request.across)
    store = writable_store(request.store)
    jobs = jobs_of(request, store)
    if len(jobs) < 2:
        hint = "name a second model or a second backend"
        raise UsageError("there is only 1 job; a comparison needs 2", hint=hint)
    same = same_work_text(jobs, side_labels(len(jobs)))
    if same is not None:
        observer.warn(same)
    most, terms = request.rounds or LOOKS[-1], request.terms
    plan = RoundPlan(rounds=most, threshold_pct=terms.threshold_pct, across=terms.across)
    with held_clocks(jobs, request, observer):
        if request.continues:
            return continue_jobs(jobs, request, store, observer)
        looks, pacing = rounds.looks_up_to(most), rounds.Pacing(plan=plan)
        return rounds.run_rounds(jobs, looks, terms, request, store, observer, pacing=pacing)


def with_process_stop(workload: Workload) -> Workload:
    """Return the workload with the stop rule of a process in an interleaved comparison."""
    return replace(workload, stop=PROCESS_STOP)


def paced_workload(workload: Workload) -> Workload:
    """Return the workload of a Python caller; the default stop rule becomes that of a process."""
    return with_process_stop(workload) if workload.stop == StopRule() else workload


@documented(rounds.InterleavedRequest)
def bench_interleaved(*models: File, **options: Unpack[InterleavedKeywords]) -> MeasuredComparison:
    """Measure jobs in interleaved rounds, in fresh processes, until it is decided which is faster.

    This is ``bench A B --compare``: the order within a round is random, so that drift and the
    variation between processes affect all sides alike. Every model on each backend is a side; the
    first is the base. A process is timed for a second, unless the workload has a stop rule. Layers
    are timed in the first round. Without `store`, the runs are in the store of the command line.

    Returns:
        The verdicts, as `compare` gives them.

    Raises:
        UsageError: Fewer than two sides, or a request that contradicts a model.
        BackendError: No process of a side succeeded; the message says why.
    """
    asked = rounds.InterleavedRequest(
        models=tuple(map(Path, models)), command=own_command(), **options
    )
    request = replace(asked, workload=paced_workload(asked.workload))
    return rounds.successful(compare_interleaved(request, MeasurementObserver()))
