"""Measure models, each job in a fresh process."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import Record
from enginescope.records.run.job import (
    Conditions,
    Depth,
    Job,
    Limits,
    ProfileMode,
    TelemetryRule,
    Workload,
)
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.services.measurement.jobs import (
    JobRequest,
    held_clocks,
    jobs_of,
    raise_unless_ok,
    telemetry_rule,
)
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import stored_fields


class BenchRequest(JobRequest, frozen=True, kw_only=True):
    """Jobs to measure one after another.

    Attributes:
        is_stored: Store each run as soon as it ends. Engines are cached in the store in any case.
    """

    is_stored: bool = True


class BenchResult(Record, frozen=True, kw_only=True):
    """Runs in the order of their jobs, and why some are not stored."""

    runs: tuple[Run, ...]
    not_stored: str | None = None

    @property
    def is_ok(self) -> bool:
        """Whether every job succeeded and every run is stored as requested."""
        return self.not_stored is None and all(
            run.outcome.kind is OutcomeKind.OK for run in self.runs
        )


def _check_runtime(jobs: Sequence[Job]) -> None:
    """Raise before anything is measured or stored where nothing can be."""
    if find_spec("onnxruntime") is None and all(job.backend.name[:4] == "ort-" for job in jobs):
        raise MissingDependencyError(
            "ONNX Runtime is not installed",
            why=f"{jobs[0].backend.name} needs it; nothing was measured or stored",
            hint="pip install 'enginescope[ort]'",
        )


def measure_models(request: BenchRequest, observer: MeasurementObserver) -> BenchResult:
    """Measure the jobs of `request` in order; a job that fails is a run with its outcome."""
    from enginescope.runner.session import run_jobs
    from enginescope.store.archive import RunKeeper, Store

    store = Store(request.store)
    if request.is_stored:
        store.check_writable()
    jobs = jobs_of(request, store)
    _check_runtime(jobs)
    keeper = RunKeeper(store)
    runs: list[Run] = []

    @deferred_signals()
    def keep(run: Run) -> None:
        named = run.of_commit(request.commit)
        if request.is_stored:
            keeper.keep(named, request.tags)
        runs.append(named)
        observer.run_ended(named, is_stored=request.is_stored and named not in keeper.lost)

    with held_clocks(jobs, request, observer):
        observer.jobs_started(jobs)
        run_jobs(jobs, keep, command=request.command, watcher=observer.watcher)
    stored = map(keeper.stored, runs) if request.is_stored else runs
    return BenchResult(runs=tuple(stored), not_stored=keeper.message)


def bench(
    model: str | PathLike[str],
    *,
    on: str | None = None,
    workload: Workload | None = None,
    layer_profile: bool = True,
    profile_mode: ProfileMode = "gated",
    limits: Limits | None = None,
    data: str = "auto",
    telemetry: TelemetryRule | Depth = "clock",
    conditions: Conditions | None = None,
    profile_index: int | None = None,
    rebuild: bool = False,
    tags: Sequence[str] = (),
    commit: str | None = None,
    store: str | PathLike[str] | None = None,
) -> RunView:
    """Measure one model in a fresh process.

    Args:
        model: An ONNX model, or a TensorRT engine.
        on: Backend, such as ``"ort-cpu?intra_op_num_threads=1"`` or ``"trt:fp16"``. By default
            ``"ort-cpu"``, or ``"trt"`` for an engine.
        workload: Shapes, feeds, mode, warm-up and stop rule. By default: seeded random inputs,
            200 ms of warm-up, and samples until the 95 % interval of the median is within ±0.5 %
            or 10 s are over.
        layer_profile: Time the layers too, in a separate pass.
        profile_mode: On TensorRT: ``"gated"``: the GPU starts when the host has enqueued all of an
            inference, and the layers' own times add up to the engine's. ``"trtexec"``: as trtexec.
        limits: Timeouts in seconds and memory in bytes of the process, used as they are.
        data: ``"auto"``: a ``test_data_set_*`` folder beside the model; ``"none"``; or a folder.
        telemetry: ``"clock"``: sample the GPU's clock around the timed loop. ``"full"``: also
            power, energy, memory and the rest, in a separate pass. ``"off"``: nothing.
        conditions: Cores to pin the process to, and the GPU temperature to wait for.
        profile_index: Optimization profile of an engine.
        rebuild: Build the engine even if the cache has it.
        tags: Names for the run in the store.
        commit: Commit of the run, if it is not that of the working directory.
        store: Folder or database to store the run in; by default the run is not stored. Engines
            that are built are stored there too, by default in the store of the command line.

    Returns:
        The run; ``run.latency.median_ms`` and the rest are computed from the samples when asked.

    Raises:
        UsageError: The model or backend does not exist, or the request contradicts the model.
        StoreError: The store cannot be written; nothing is measured then.
        UnsupportedError: This machine or build cannot run it on that backend.
        BackendError: It failed, crashed, timed out or ran out of memory; the message says which.
    """
    observer = MeasurementObserver()
    request = BenchRequest(
        models=(Path(model),),
        backends=(on,) if on else (),
        workload=workload or Workload(),
        layer_profile=layer_profile,
        profile_mode=profile_mode,
        limits=limits,
        data=data,
        telemetry=telemetry_rule(telemetry),
        conditions=conditions or Conditions(),
        profile_index=profile_index,
        rebuild=rebuild,
        commit=commit,
        is_stored=store is not None,
        **stored_fields(tags, store),
    )
    result = measure_models(request, observer)
    if result.not_stored is not None:
        observer.warn(result.not_stored)
    (run,) = result.runs
    raise_unless_ok(run)
    return RunView(run)
