"""Explore a plan, a run, or a model that is measured first."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.core.errors import UsageError
from enginescope.core.record import copied, replace
from enginescope.records.run.job import Workload
from enginescope.records.run.run import Run
from enginescope.services.measurement.bench import measure_models
from enginescope.services.measurement.jobs import JobRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.observer import PlanObserver
from enginescope.services.output_files import check_outputs
from enginescope.services.plans.explore import check_options, drawing_of, explore_and_write
from enginescope.services.plans.explore_request import (
    BRIEF,
    ContextFiles,
    Explored,
    ExploreFiles,
    ExploreRequest,
)
from enginescope.services.plans.plan_input import CompanionFiles, PlanName
from enginescope.services.store_access import own_command, place_of


def measured(request: ExploreRequest, observer: MeasurementObserver) -> tuple[Run, ExploreRequest]:
    """Measure the model of a request; return its run, and the request that explores that run.

    Raises:
        UsageError: The model or backend does not exist, or an option needs another one.
        UnsupportedError, BackendError: The backend cannot run the model, or failed.
    """
    check_options(request)
    assert isinstance(request.plan, str | PathLike)
    if any(request.companions):
        why = f"the layers of {request.plan} are measured"
        raise UsageError("`profile`", why=why, hint="it belongs to a plan file")
    path = Path(request.plan)
    check_outputs(request.files.requested().values(), (path, request.context.onnx))
    jobs = copied(JobRequest, request, models=(path,))
    result = measure_models(jobs, observer, is_stored=request.is_stored)
    if result.not_stored is not None:
        observer.warn(result.not_stored)
    (run,) = result.runs
    raise_unless_ok(run)
    return run, replace(request, plan=RunView(run))


def explore(
    what: PlanName,
    *,
    on: str | None = None,
    workload: Workload = BRIEF,
    profile: str | PathLike[str] | None = None,
    plan_profile: int = 0,
    sort: str = "time",
    gpu: str | None = None,
    onnx: str | PathLike[str] | None = None,
    build_log: str | PathLike[str] | None = None,
    overlay: str | PathLike[str] | None = None,
    csv: str | PathLike[str] | None = None,
    xlsx: str | PathLike[str] | None = None,
    netron: str | PathLike[str] | None = None,
    model_explorer: str | PathLike[str] | None = None,
    perfetto: str | PathLike[str] | None = None,
    html: str | PathLike[str] | None = None,
    card: str | PathLike[str] | None = None,
    svg: str | PathLike[str] | None = None,
    png: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    **drawing: Any,
) -> Explored:
    """Explore a plan or a model, and write it as tables, a page or a graph.

    `open_plan` has the same figures as data frames and charts.

    Args:
        what: A plan's JSON, with the files that are named like it; an engine, where TensorRT is
            installed; a folder or an archive of one engine's files; a stored run; or an ONNX model,
            which is measured first, as `bench` does.
        on: Backend to measure a model or an engine on, by default ``"ort-cpu"``.
        workload: Inputs and stop rule of that measurement; by default it takes 3 s.
        profile: Layer times, where they are not beside the plan's file.
        plan_profile: Optimization profile, of a plan that has several.
        sort: Order of the layers: ``"time"``, ``"plan"``, ``"name"``, ``"type"``, ``"precision"``,
            ``"tactic"``, ``"weights"``, ``"activations"`` or ``"footprint"``.
        gpu: Compare each layer with this GPU's limits.
        onnx, build_log: The model that the plan was built from, and the verbose log of the build.
        overlay: Your own figure of each layer, to color the page's graph by: a CSV or JSON file of
            names and values.
        csv, xlsx: Write the layers; write all tables.
        netron: Write the plan for Netron; with `onnx`, that model with times on its nodes.
        model_explorer: Write the plan for Model Explorer, and its times beside it; with `onnx`, the
            times of that model's nodes.
        perfetto: Write the layers of one inference, and recorded requests, as a trace.
        html: Write everything as one page.
        card: Write one 16:9 PNG for a slide: the figure, the slowest layers, the conditions.
        svg, png: Write the plan as a graph.
        store: Store of the runs; by default the command line's, where a model's run is not stored.
        **drawing: Options of the graph: ``color``, ``regions``, ``constants``, ``beam``, ``fold``,
            ``filter``, ``highlight``.

    Raises:
        UsageError: There is neither a plan nor layer times, nothing of a name, no such profile or
            GPU; a file cannot be written; or an option needs another one.
        FormatError, StoreError: A file cannot be used, or there is no such run.
        MissingDependencyError, BackendError: TensorRT cannot inspect an engine here, or a package
            that writes a format is missing.

    Examples:
        >>> es.explore("net.graph.json", html="net.html", gpu="H200")   # doctest: +SKIP
    """
    paths = {
        "csv": csv,
        "xlsx": xlsx,
        "netron": netron,
        "model_explorer": model_explorer,
        "perfetto": perfetto,
        "html": html,
        "card": card,
        "svg": svg,
        "png": png,
    }
    request = ExploreRequest(
        plan=what,
        companions=CompanionFiles(profile=Path(profile) if profile is not None else None),
        plan_profile=plan_profile,
        sort=sort,
        context=ContextFiles(
            gpu=gpu,
            onnx=Path(onnx) if onnx is not None else None,
            build_log=Path(build_log) if build_log is not None else None,
            overlay=Path(overlay) if overlay is not None else None,
        ),
        files=ExploreFiles(**{name: Path(path) for name, path in paths.items() if path}),
        drawing=drawing_of(**drawing),
        on=on,
        workload=workload,
        is_stored=store is not None,
        store=place_of(store),
        command=own_command(),
    )
    if request.is_measured:
        _, request = measured(request, MeasurementObserver())
    return explore_and_write(request, PlanObserver())
