"""Requests into jobs, with what they ask of the machine: the one path of every measuring verb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.looks import LOOKS, MOST_ROUNDS
from enginescope.probe.nvml import SmClock, gpu_temperature_c
from enginescope.records.environment import Commit
from enginescope.records.run.job import (
    Conditions,
    Depth,
    Job,
    Limits,
    ProfileMode,
    TelemetryRule,
    Workload,
)
from enginescope.services.declared import File, Param, check_declared, unflagged

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.services.measurement.observer import MeasurementObserver
    from enginescope.store.archive import Store

#: Student's t needs two rounds; of two it is so wide that it says nothing.
LEAST_ROUNDS = 3
#: By default enough for intervals by ranks.
ROUNDS = LOOKS[0]
Rounds: TypeAlias = Annotated[
    int,
    Param(
        "Number of rounds that count; each runs fresh processes of all kinds.",
        least=LEAST_ROUNDS,
        most=MOST_ROUNDS,
    ),
]
MaximumRounds: TypeAlias = Annotated[
    int | None,
    Param("Maximum number of rounds.", least=LOOKS[0], most=MOST_ROUNDS, usual=f"{LOOKS[-1]}"),
]
On: TypeAlias = Annotated[
    str | None, Param("Backend to measure on.", usual="ort-cpu; trt for an engine")
]
JobConditions: TypeAlias = Annotated[Conditions, unflagged("Pinned cores and cooldown.")]
JobClock: TypeAlias = Annotated[SmClock | None, unflagged("SM clock to hold: MHz, base or max.")]
#: One sample of all channels of a GPU takes some milliseconds.
LEAST_INTERVAL_MS = 5.0
_SEEN = "enginescope doctor lists the GPUs"


class ProcessRequest(Record, frozen=True, kw_only=True):
    """What fresh processes do, and the store that they use."""

    workload: Annotated[Workload, unflagged("Inputs, seed and stop rule of each process.")] = (
        Workload()
    )
    limits: Annotated[Limits | None, unflagged("Limits of each process.")] = None
    store: Annotated[File | None, unflagged("Folder or database of the runs.")] = None
    command: str | None = None

    def __post_init__(self) -> None:
        check_declared(self)

    @property
    def backends(self) -> tuple[str, ...]:
        """What `on` names, in a request that has it."""
        on: str | Sequence[str] | None = getattr(self, "on", None)
        return (on,) if isinstance(on, str) else tuple(on or ())


class StoredRequest(ProcessRequest, frozen=True, kw_only=True):
    """A `ProcessRequest` whose runs are stored."""

    tags: Annotated[Sequence[str], unflagged("Tags of the runs in the store.")] = ()


class JobRequest(StoredRequest, frozen=True, kw_only=True):
    """Models, backends and conditions of the jobs to run.

    Attributes:
        models: Empty: the bundled samples.
        limits: Used as they are; `None`: from `timeout_s` and `memory_bytes`.
        timeout_s: `None`: leaves the workload and the telemetry their time.
        is_elsewhere: Another Python runs the jobs, so that this one needs no packages for them.
        max_time_s: No round begins that would probably end later; ``None``: no limit.
    """

    models: tuple[Path, ...] = ()
    on: Annotated[
        str | Sequence[str] | None,
        Param(
            "Backend to measure on, as NAME[:PRECISION][?KEY=VALUE&…].",
            usual="ort-cpu; trt for an engine",
        ),
    ] = None
    layer_profile: Annotated[
        bool, Param("Measure per-layer times in a separate pass.", flag="--layers/--no-layers")
    ] = True
    profile_mode: Annotated[
        ProfileMode,
        Param("Time TensorRT's layers without the profiler's cost, or as trtexec does."),
    ] = "gated"
    data: Annotated[
        str,
        Param(
            "Data set folder with input_*.pb; auto: test_data_set_* in the model's folder; none: "
            "random inputs."
        ),
    ] = "auto"
    telemetry: Annotated[
        TelemetryRule | Depth,
        unflagged(
            "clock: sample the GPU's clock around the timed loop; full: also power, energy and "
            "memory, in a separate pass; off: sample nothing."
        ),
    ] = "clock"
    conditions: JobConditions = Conditions()
    clock: JobClock = None
    profile_index: Annotated[
        int | None, Param("Select the optimization profile to run.", least=0)
    ] = None
    rebuild: Annotated[bool, Param("Rebuild engines even if the cache has them.")] = False
    trtexec_arguments: Annotated[
        str, unflagged("Further arguments for the backend trtexec, as in a shell.")
    ] = ""
    commit: Annotated[
        str | None, unflagged("Commit of the runs.", usual="that of the working directory")
    ] = None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    is_elsewhere: bool = False
    continues: bool = False
    max_time_s: float | None = None

    @property
    def telemetry_rule(self) -> TelemetryRule:
        rule = self.telemetry
        return TelemetryRule(depth=rule) if isinstance(rule, str) else rule

    def labelled(self, run: Run) -> Run:
        """Return a run with what the request says about it, before it is stored."""
        if self.commit is None:
            return run
        return replace(run, environment=replace(run.environment, commit=Commit(id=self.commit)))


class MeasureRequest(StoredRequest, frozen=True, kw_only=True):
    """How a verb of its own measures in fresh processes."""

    continues: Annotated[
        bool,
        Param("Continue the newest measurement of the same jobs in the store.", flag="--continue"),
    ] = False
    max_time_s: Annotated[
        float | None, Param("Maximum total time; measures less if needed.", above=0)
    ] = None

    def jobs(self, *models: Path, **fields: Any) -> JobRequest:
        """Return the request of jobs without layer times; `fields` are others of it."""
        return JobRequest(
            models=models,
            layer_profile=False,
            **{name: getattr(self, name) for name in MeasureRequest.__struct_fields__},
            **fields,
        )


class ModelRequest(MeasureRequest, frozen=True):
    """A `MeasureRequest` of one model, which a caller names first."""

    model: Annotated[File, Param("ONNX model, or an engine for a verb that builds nothing.")]

    @property
    def path(self) -> Path:
        return Path(self.model)


def jobs_of(request: JobRequest, store: Store) -> tuple[Job, ...]:
    """Make the jobs of `request`, models outermost."""
    from enginescope.backends.trtexec.options import split_arguments, with_arguments
    from enginescope.runner.inputs.sample_models import sample_models
    from enginescope.runner.jobs import limits_for, make_jobs, usual_backend, watched
    from enginescope.runner.model_inputs import with_profile

    _check_workload(request.workload)
    telemetry = request.telemetry_rule
    check_telemetry(telemetry)
    limits = request.limits or limits_for(
        request.workload, timeout_s=request.timeout_s, memory_bytes=request.memory_bytes
    )
    jobs: tuple[Job, ...] = ()
    for model in request.models or sample_models(store.path / "samples"):
        jobs += make_jobs(
            [model],
            with_profile(request.backends or (usual_backend(model),), request.profile_index),
            request.workload,
            limits=limits,
            layer_profile=request.layer_profile,
            profile_mode=request.profile_mode,
            data=request.data,
            engine_cache=store.path / "engines",
            rebuild=request.rebuild,
            is_elsewhere=request.is_elsewhere,
        )
    jobs = with_arguments(jobs, split_arguments(request.trtexec_arguments))
    jobs = _under_conditions(jobs, request.conditions)
    return watched(jobs, telemetry, is_bounded=bool(request.limits or request.timeout_s))


@contextmanager
def held_clocks(
    jobs: Sequence[Job], request: JobRequest, observer: MeasurementObserver
) -> Iterator[None]:
    """Lock the clocks of the GPUs that `jobs` use in this block, if the request asks for it."""
    if request.clock is None:
        yield
        return
    from enginescope.runner.machine.gpu_condition import gpus_of
    from enginescope.runner.machine.locked_clocks import locked_clocks

    gpus = gpus_of(jobs)
    if not gpus:
        raise UsageError("`clock`", why="no GPU of these jobs is seen", hint=_SEEN)
    command = request.command or "enginescope"
    with locked_clocks(gpus, request.clock, command=command, say=observer.warn) as locks:
        observer.clocks_locked(locks)
        yield


def raise_unless_ok(run: Run) -> None:
    """Raise `UnsupportedError` or `BackendError` if a run failed."""
    from enginescope.runner.inputs.collect_outputs import raise_unless_ok as check

    check(run.outcome, f"{run.job.subject.name} on {run.job.backend}: {run.outcome.kind.value}")


def _check_workload(workload: Workload) -> None:
    stop, mode = workload.stop, workload.mode
    if stop.iterations is not None and stop.duration_ms is not None:
        raise UsageError("iterations and duration", why="each alone ends the measurement")
    if mode.streams and mode.kind != "throughput":
        why = "in latency mode one request is in flight"
        raise UsageError("streams", why=why, hint="mode throughput")
    for file in workload.files:
        if not Path(file.path).is_file():
            raise UsageError(f"input {file.name}:{file.path}", why=f"there is no file {file.path}")


def check_telemetry(rule: TelemetryRule) -> None:
    """Raise `UsageError` for an interval in which no GPU can be sampled."""
    if rule.depth == "full" and rule.interval_ms < LEAST_INTERVAL_MS:
        why = f"reading a GPU takes some milliseconds; at least {LEAST_INTERVAL_MS:g}ms"
        raise UsageError(f"gpu_sample_interval {rule.interval_ms:g}ms", why=why)


def _under_conditions(jobs: tuple[Job, ...], conditions: Conditions) -> tuple[Job, ...]:
    from enginescope.probe.host import check_pinning
    from enginescope.runner.machine.gpu_condition import gpus_of

    if conditions.pinned_cores:
        check_pinning(conditions.pinned_cores)
    if conditions.cooldown is not None:
        gpus = gpus_of(jobs)
        if not gpus:
            raise UsageError("`cooldown`", why="no GPU of these jobs is seen", hint=_SEEN)
        if all(gpu_temperature_c(gpu) is None for gpu in gpus):
            raise UsageError("`cooldown`", why=f"{', '.join(gpus)} does not report its temperature")
    return tuple(replace(job, conditions=conditions) for job in jobs)
