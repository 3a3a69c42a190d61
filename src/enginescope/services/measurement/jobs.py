"""Requests into jobs, with what they ask of the machine: the one path of every measuring verb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.judge.comparison.ratio import LOOKS, MOST_ROUNDS
from enginescope.records.run.job import (
    Conditions,
    Depth,
    Job,
    Limits,
    ProfileMode,
    TelemetryRule,
    Workload,
)
from enginescope.services.measurement.declared import File, Param, check_declared
from enginescope.services.store_access import place_of

if TYPE_CHECKING:
    from enginescope.probe.nvml import SmClock
    from enginescope.records.run.run import Run
    from enginescope.services.measurement.observer import MeasurementObserver
    from enginescope.store.archive import Store
    from enginescope.store.location import StorePlace


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
On: TypeAlias = Annotated[
    str | None, Param("Backend to measure on.", usual="ort-cpu; trt for an engine")
]
#: One sample of all channels of a GPU takes some milliseconds.
LEAST_INTERVAL_MS = 5.0
_SEEN = "enginescope doctor lists the GPUs"


class JobRequest(Record, frozen=True, kw_only=True):
    """Models, backends and conditions of the jobs to run.

    Attributes:
        models: Empty: the bundled samples.
        backends: Specifications; every model runs on each. Empty: the usual backend of the model.
        layer_profile: Time the layers too, in a separate pass.
        profile_mode: On TensorRT: ``"gated"``, or ``"trtexec"`` for times as trtexec takes them.
        data: ``"auto"``, ``"none"`` or a folder, as `make_jobs` takes it.
        limits: Used as they are; `None`: from `timeout_s` and `memory_bytes`.
        timeout_s: `None`: leaves the workload and the telemetry their time.
        rebuild: Build engines again even if the cache has them.
        is_elsewhere: Another Python runs the jobs, so that this one needs no packages for them.
        profile_index: Optimization profile, for backends that run engines.
        trtexec_arguments: Further arguments for the backend trtexec, quoted as in a shell.
        conditions: Pinned cores and cooldown.
        clock: SM clock in MHz to hold while the jobs run; or ``"base"``, ``"max"``.
        tags: Names for the runs in the store.
        continues: Continue the newest recorded rounds of the same jobs.
        max_time_s: No round begins that would probably end later; ``None``: no limit.
        commit: Commit of the runs, if it is not that of the working directory.
        store: Store of runs, engines and samples; by default that of the command line.
        command: Command line to record.
    """

    models: tuple[Path, ...] = ()
    backends: tuple[str, ...] = ()
    workload: Workload = Workload()
    layer_profile: bool = True
    profile_mode: ProfileMode = "gated"
    data: str = "auto"
    limits: Limits | None = None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    rebuild: bool = False
    is_elsewhere: bool = False
    profile_index: int | None = None
    trtexec_arguments: str = ""
    telemetry: TelemetryRule = TelemetryRule()
    conditions: Conditions = Conditions()
    clock: SmClock | None = None
    tags: tuple[str, ...] = ()
    continues: bool = False
    max_time_s: float | None = None
    commit: str | None = None
    store: StorePlace | None = None
    command: str | None = None


class MeasureRequest(Record, frozen=True, kw_only=True):
    """How a verb of its own measures in fresh processes, and where their runs are stored."""

    workload: Annotated[
        Workload, Param("Inputs, seed and stop rule of each process.", has_flag=False)
    ] = Workload()
    continues: Annotated[
        bool,
        Param("Continue the newest measurement of the same jobs in the store.", flag="--continue"),
    ] = False
    max_time_s: Annotated[
        float | None, Param("Maximum total time; measures less if needed.", above=0)
    ] = None
    limits: Annotated[Limits | None, Param("Limits of each process.", has_flag=False)] = None
    tags: Annotated[Sequence[str], Param("Tags of the runs in the store.", has_flag=False)] = ()
    store: Annotated[File | None, Param("Folder or database of the runs.", has_flag=False)] = None
    command: str | None = None

    def __post_init__(self) -> None:
        check_declared(self)

    def jobs(self, *models: Path, **fields: Any) -> JobRequest:
        """Return the request of jobs without layer times; `fields` are others of it."""
        return JobRequest(
            models=models,
            workload=self.workload,
            layer_profile=False,
            limits=self.limits,
            continues=self.continues,
            max_time_s=self.max_time_s,
            tags=tuple(self.tags),
            store=place_of(self.store),
            command=self.command,
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
    check_telemetry(request.telemetry)
    limits = request.limits or limits_for(
        request.workload, timeout_s=request.timeout_s, memory_bytes=request.memory_bytes
    )
    jobs: tuple[Job, ...] = ()
    for model in request.models or sample_models(store.path / "samples"):
        backends = request.backends or (usual_backend(model),)
        jobs += make_jobs(
            [model],
            with_profile(backends, request.profile_index),
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
    return watched(jobs, request.telemetry, is_bounded=bool(request.limits or request.timeout_s))


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
        raise UsageError("lock_clocks", why="no GPU of these jobs is seen", hint=_SEEN)
    command = request.command or "enginescope"
    with locked_clocks(gpus, request.clock, command=command, say=observer.warn) as locks:
        observer.clocks_locked(locks)
        yield


def telemetry_rule(telemetry: TelemetryRule | Depth) -> TelemetryRule:
    """Return the rule of a depth; a rule stays as it is."""
    return TelemetryRule(depth=telemetry) if isinstance(telemetry, str) else telemetry


def raise_unless_ok(run: Run) -> None:
    """Raise `UnsupportedError` or `BackendError` if a run failed."""
    from enginescope.runner.inputs.collect_outputs import raise_unless_ok as check

    check(run.outcome, f"{run.job.subject.name} on {run.job.backend}: {run.outcome.kind.value}")


def _check_workload(workload: Workload) -> None:
    stop, mode = workload.stop, workload.mode
    if stop.iterations is not None and stop.duration_ms is not None:
        raise UsageError("iterations and duration", why="each alone ends the measurement")
    if mode.streams and mode.kind != "throughput":
        raise UsageError(
            "streams", why="in latency mode one request is in flight", hint="mode throughput"
        )
    for file in workload.files:
        if not Path(file.path).is_file():
            raise UsageError(f"input {file.name}:{file.path}", why=f"there is no file {file.path}")


def check_telemetry(rule: TelemetryRule) -> None:
    """Raise `UsageError` for an interval in which no GPU can be sampled."""
    if rule.depth == "full" and rule.interval_ms < LEAST_INTERVAL_MS:
        raise UsageError(
            f"gpu_sample_interval {rule.interval_ms:g}ms",
            why=f"reading a GPU takes some milliseconds; at least {LEAST_INTERVAL_MS:g}ms",
        )


def _under_conditions(jobs: tuple[Job, ...], conditions: Conditions) -> tuple[Job, ...]:
    from enginescope.probe.host import check_pinning

    if conditions.pinned_cores:
        check_pinning(conditions.pinned_cores)
    if conditions.cooldown is not None:
        _check_thermometer(jobs)
    return tuple(replace(job, conditions=conditions) for job in jobs)


def _check_thermometer(jobs: Sequence[Job]) -> None:
    from enginescope.probe.nvml import gpu_temperature_c
    from enginescope.runner.machine.gpu_condition import gpus_of

    gpus = gpus_of(jobs)
    if not gpus:
        raise UsageError("cooldown", why="no GPU of these jobs is seen", hint=_SEEN)
    if all(gpu_temperature_c(gpu) is None for gpu in gpus):
        raise UsageError("cooldown", why=f"{', '.join(gpus)} does not report its temperature")
