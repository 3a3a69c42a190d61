"""Compare jobs by interleaved rounds of fresh processes, until it is decided which is faster."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT, CompareConfig, differences
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.ratio import LOOKS, MOST_ROUNDS
from enginescope.records.progress import RoundPlan
from enginescope.records.run.job import (
    Conditions,
    Depth,
    Limits,
    ProfileMode,
    StopRule,
    TelemetryRule,
    Workload,
)
from enginescope.render.verdicts.verdict_phrases import same_work_text, side_labels
from enginescope.services.measurement.continued import continue_jobs
from enginescope.services.measurement.jobs import held_clocks, jobs_of, telemetry_rule
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.rounds import (
    InterleavedRequest,
    InterleavedResult,
    Pacing,
    looks_up_to,
    run_rounds,
    successful,
)
from enginescope.services.store_access import stored_fields, writable_store

#: What a process is timed for where nothing else is asked for. Processes of the same work differ by
#: more than the median of a second is uncertain, so that more of them tell more than longer ones;
#: and a length that the samples have no say in is the same for all sides.
PROCESS_STOP = StopRule(duration_ms=1_000.0, min_iterations=5, precision_pct=None)


def compare_interleaved(
    request: InterleavedRequest, observer: MeasurementObserver
) -> InterleavedResult:
    """Measure the jobs of `request` in interleaved rounds, and compare them."""
    if not request.models:
        raise UsageError("no models to compare", hint="name two models, or one and two backends")
    check_rounds(request.rounds)
    differences((), (), across=request.terms.across)
    store = writable_store(request.store)
    jobs = jobs_of(request, store)
    if len(jobs) < 2:
        raise UsageError(
            "there is only 1 job; a comparison needs 2",
            hint="name a second model or a second backend",
        )
    same = same_work_text(jobs, side_labels(len(jobs)))
    if same is not None:
        observer.warn(same)
    rounds, terms = request.rounds or LOOKS[-1], request.terms
    plan = RoundPlan(rounds=rounds, threshold_pct=terms.threshold_pct, across=terms.across)
    with held_clocks(jobs, request, observer):
        if request.continues:
            return continue_jobs(jobs, request, store, observer)
        looks, pacing = looks_up_to(rounds), Pacing(plan=plan)
        return run_rounds(jobs, looks, terms, request, store, observer, pacing=pacing)


def check_rounds(rounds: int | None) -> None:
    """Raise `UsageError` if so many rounds cannot give an interval, or are too many."""
    if rounds is not None and not LOOKS[0] <= rounds <= MOST_ROUNDS:
        raise UsageError(f"rounds: {rounds} is not between {LOOKS[0]} and {MOST_ROUNDS:,}")


def with_process_stop(workload: Workload) -> Workload:
    """Return the workload with the stop rule of a process in an interleaved comparison."""
    return replace(workload, stop=PROCESS_STOP)


def paced_workload(workload: Workload | None) -> Workload:
    """Return the workload of a Python caller; the default stop rule becomes that of a process."""
    workload = workload or Workload()
    return with_process_stop(workload) if workload.stop == StopRule() else workload


def bench_interleaved(
    *models: str | PathLike[str],
    on: str | Sequence[str] | None = None,
    workload: Workload | None = None,
    layer_profile: bool = True,
    profile_mode: ProfileMode = "gated",
    limits: Limits | None = None,
    data: str = "auto",
    telemetry: TelemetryRule | Depth = "clock",
    conditions: Conditions | None = None,
    rounds: int | None = None,
    threshold_pct: float = THRESHOLD_PCT,
    across: Sequence[str] = (),
    continues: bool = False,
    max_time_s: float | None = None,
    tags: Sequence[str] = (),
    commit: str | None = None,
    store: str | PathLike[str] | None = None,
) -> MeasuredComparison:
    """Measure jobs in interleaved rounds, in fresh processes, until it is decided which is faster.

    This is ``bench A B --compare``: the order within a round is random, so that drift and the
    variation between processes affect all sides alike.

    Args:
        *models: ONNX models or engines.
        on: Backends; every model on each is a side, the first being the base. By default
            ``"ort-cpu"``, or ``"trt"`` for an engine.
        workload: By default a process is timed for a second; its stop rule holds for each process.
        layer_profile: Time the layers too, in the first round.
        profile_mode: As for `bench`.
        limits: Of each process.
        data, telemetry, conditions, commit: As for `bench`.
        rounds: Maximum number of rounds, 8 to 1,000; 60 by default.
        threshold_pct: Smaller differences do not matter.
        across: Conditions that differ on purpose.
        continues: Continue the newest comparison of these jobs, as `continue_comparison` does.
        max_time_s: Maximum total time; measures fewer rounds if needed.
        tags: Names for the runs in the store.
        store: Where the runs are stored; by default in the store of the command line.

    Returns:
        The verdicts, as `compare` gives them.

    Raises:
        UsageError: Fewer than two sides, or a request that contradicts a model.
        BackendError: No process of a side succeeded; the message says why.
    """
    observer = MeasurementObserver()
    request = InterleavedRequest(
        models=tuple(map(Path, models)),
        backends=(on,) if isinstance(on, str) else tuple(on or ()),
        workload=paced_workload(workload),
        layer_profile=layer_profile,
        profile_mode=profile_mode,
        limits=limits,
        data=data,
        telemetry=telemetry_rule(telemetry),
        conditions=conditions or Conditions(),
        rounds=rounds,
        terms=CompareConfig(threshold_pct=threshold_pct, across=tuple(across)),
        continues=continues,
        max_time_s=max_time_s,
        commit=commit,
        **stored_fields(tags, store),
    )
    return successful(compare_interleaved(request, observer))
