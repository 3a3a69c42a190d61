"""Measure models, each job in a fresh process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import MissingDependencyError
from enginescope.core.process_control import deferred_signals
from enginescope.core.record import Record, replace
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.runner import session
from enginescope.services.declared import File, Param, python_function
from enginescope.services.measurement.jobs import (
    JobRequest,
    On,
    held_clocks,
    jobs_of,
    raise_unless_ok,
)
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import store_at, writable_store
from enginescope.store.archive import RunKeeper


class _OneModel(JobRequest, frozen=True):
    model: Annotated[File, Param("ONNX model, or TensorRT engine.")]


class BenchRequest(_OneModel, frozen=True, kw_only=True):
    """One model to measure: the parameters of `bench`."""

    on: On = None


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


def measure_models(
    request: JobRequest, observer: MeasurementObserver, *, is_stored: bool = True
) -> BenchResult:
    """Measure the jobs of `request` in order; a job that fails is a run with its outcome.

    Each run is stored as soon as it ends, if `is_stored`; engines are cached in any case.
    """
    store = writable_store(request.store) if is_stored else store_at(request.store)
    jobs = jobs_of(request, store)
    if find_spec("onnxruntime") is None and all(job.backend.name[:4] == "ort-" for job in jobs):
        why = f"{jobs[0].backend.name} needs it; nothing was measured or stored"
        hint = "pip install 'enginescope[ort]'"
        raise MissingDependencyError("ONNX Runtime is not installed", why=why, hint=hint)
    keeper = RunKeeper(store)
    runs: list[Run] = []

    @deferred_signals()
    def keep(run: Run) -> None:
        named = request.labelled(run)
        if is_stored:
            keeper.keep(named, request.tags)
        runs.append(named)
        observer.run_ended(named, is_stored=is_stored and named not in keeper.lost)

    with held_clocks(jobs, request, observer):
        observer.jobs_started(jobs)
        session.run_jobs(jobs, keep, command=request.command, watcher=observer.watcher)
    stored = map(keeper.stored, runs) if is_stored else runs
    return BenchResult(runs=tuple(stored), not_stored=keeper.message)


def _bench(request: BenchRequest, observer: MeasurementObserver) -> RunView:
    """Measure one model in a fresh process.

    By default the process warms up for 200 ms, and takes samples until the 95 % interval of the
    median is within ±0.5 % or 10 s are over. Without `store`, the run is not stored.

    Returns:
        The run; ``run.latency.median_ms`` and the rest are computed from the samples when asked.

    Raises:
        UsageError: The model or backend does not exist, or the request contradicts the model.
        StoreError: The store cannot be written; nothing is measured then.
        UnsupportedError: This machine or build cannot run it on that backend.
        BackendError: It failed, crashed, timed out or ran out of memory; the message says which.
    """
    jobs = replace(request, models=(Path(request.model),))
    result = measure_models(jobs, observer, is_stored=request.store is not None)
    if result.not_stored is not None:
        observer.warn(result.not_stored)
    (run,) = result.runs
    raise_unless_ok(run)
    return RunView(run)


bench = python_function("bench", BenchRequest, _bench)
