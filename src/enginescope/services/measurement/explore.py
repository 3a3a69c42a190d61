"""Explore a plan, a run, or a model that is measured first."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.records.run.run import Run
from enginescope.services.declared import python_function
from enginescope.services.measurement.bench import measure_models
from enginescope.services.measurement.jobs import JobRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import check_outputs
from enginescope.services.plans.explore import Explored, check_options, explore_and_write
from enginescope.services.plans.explore_request import ExploreRequest


def measured(request: ExploreRequest, observer: MeasurementObserver) -> tuple[Run, ExploreRequest]:
    """Measure the model of a request; return its run, and the request that explores that run.

    Raises:
        UsageError: The model or backend does not exist, or an option needs another one.
        UnsupportedError, BackendError: The backend cannot run the model, or failed.
    """
    check_options(request)
    assert isinstance(request.what, str | PathLike)
    if request.profile or request.metadata or request.build_metadata:
        why = f"the layers of {request.what} are measured"
        raise UsageError("`profile`", why=why, hint="it belongs to a plan file")
    path = Path(request.what)
    check_outputs(request.files.values(), (path, request.onnx))
    jobs = copied(JobRequest, request, models=(path,))
    result = measure_models(jobs, observer, is_stored=request.is_stored)
    if result.not_stored is not None:
        observer.warn(result.not_stored)
    (run,) = result.runs
    raise_unless_ok(run)
    return run, replace(request, what=RunView(run))


def _explore(request: ExploreRequest, observer: MeasurementObserver) -> Explored:
    """Explore a plan or a model, and write it as tables, a page or a graph.

    `open_plan` has the same figures as data frames and charts.

    Returns:
        ``found.layers``, ``found.notices``, ``found.memory``, ``found.to_json()``.

    Raises:
        UsageError: There is neither a plan nor layer times, nothing of a name, no such profile or
            GPU; a file cannot be written; or an option needs another one.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here, or a package
            that writes a format is missing.

    Examples:
        >>> es.explore("net.graph.json", html="net.html", gpu="H200")   # doctest: +SKIP
    """
    request = replace(request, is_stored=request.store is not None)
    if request.is_measured:
        _, request = measured(request, observer)
    return explore_and_write(request, PlanObserver())


explore = python_function("explore", ExploreRequest, _explore)
