"""Build engines, each in a fresh process, or take them from the cache."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import BackendSpec, Limits, Workload
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.services.measurement.jobs import raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import own_command, place_of, writable_store
from enginescope.store.location import StorePlace


class BuildRequest(Record, frozen=True, kw_only=True):
    """What to build, and where to write it.

    Attributes:
        engine: Where to copy the engine and the files beside it; `None`: it stays in the cache.
        backend: Specification of a backend that builds engines.
        options: Options of the backend, added to those of its specification.
        workload: Batch and shapes of dynamic inputs, where the options name none.
        limits: Used as they are; `None`: from `timeout_s` and `memory_bytes`.
        rebuild: Build even if the cache has the engine.
        store: Its engine cache is used.
        command: Command line to record.
    """

    model: Path
    engine: Path | None = None
    backend: str = "trt"
    options: Mapping[str, str] = {}
    workload: Workload = Workload()
    limits: Limits | None = None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    rebuild: bool = False
    store: StorePlace | None = None
    command: str | None = None


class BuildResult(Record, frozen=True, kw_only=True):
    """The run of the build, whatever its outcome, and the files written."""

    run: Run
    files: tuple[Path, ...] = ()


def build_engine(request: BuildRequest, observer: MeasurementObserver) -> BuildResult:
    """Build the engine of `request`; a build that fails is a run with its outcome."""
    from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES, PASSPORT_ENDING
    from enginescope.runner.jobs import limits_for, make_jobs
    from enginescope.runner.session import build_engines
    from enginescope.services.output_files import check_outputs
    from enginescope.services.plans.passport import PassportRequest, write_passport

    model, engine = request.model, request.engine
    if model.suffix.lower() in ENGINE_SUFFIXES:
        raise UsageError(f"{model} is an engine already", hint=f"enginescope bench {model}")
    if engine is not None and not engine.resolve().parent.is_dir():
        raise UsageError(f"engine {engine}", why=f"there is no folder {engine.parent}")
    if engine is not None and engine.is_dir():
        raise UsageError(f"engine {engine}", why="it is a folder")
    check_outputs([engine], [model])
    backend = _backend(request)
    store = writable_store(request.store)
    jobs = make_jobs(
        [model],
        [str(backend)],
        request.workload,
        limits=request.limits
        or limits_for(
            request.workload, timeout_s=request.timeout_s, memory_bytes=request.memory_bytes
        ),
        data="none",
        engine_cache=store.path / "engines",
        rebuild=request.rebuild,
        only_builds=True,
    )
    observer.jobs_started(jobs)
    (run,) = build_engines(
        jobs, lambda _run: None, command=request.command, watcher=observer.watcher
    )
    if run.outcome.kind is not OutcomeKind.OK or run.build is None or engine is None:
        return BuildResult(run=run)
    files = _copied(Path(run.build.engine), engine)
    passport = engine.with_name(engine.name + PASSPORT_ENDING)
    report = replace(run.build, engine=engine.name, command=request.command)
    write_passport(PassportRequest(file=engine, output=passport, build=report, with_runs=False))
    return BuildResult(run=run, files=(*files, passport))


def build(
    model: str | PathLike[str],
    engine: str | PathLike[str] | None = None,
    *,
    on: str = "trt",
    options: Mapping[str, str] | None = None,
    workload: Workload | None = None,
    limits: Limits | None = None,
    rebuild: bool = False,
    store: str | PathLike[str] | None = None,
) -> BuildReport:
    """Build a TensorRT engine in a fresh process, or take it from the cache.

    Args:
        model: An ONNX model.
        engine: Where to copy the engine, with its metadata, log and graph beside it. By default it
            stays in the engine cache.
        on: Backend with precision and options: ``"trt:fp16?workspace=4GiB"``.
        options: Further options of the backend: ``{"opt_shapes": "x:8x3x224x224"}``.
        workload: Batch and shapes of dynamic inputs, where the options name none.
        limits: Timeouts in seconds and memory in bytes of the process.
        rebuild: Build even if the cache has the engine.
        store: Folder whose engine cache is used; by default the one the command line uses.

    Returns:
        The report; ``report.engine`` is the path.

    Raises:
        UsageError: The model is an engine or does not exist, the backend builds no engines, an
            option has two values, or the engine cannot be written there.
        UnsupportedError, BackendError: It cannot be built, or building failed.
    """
    request = BuildRequest(
        model=Path(model),
        engine=Path(engine) if engine is not None else None,
        backend=on,
        options=options or {},
        workload=workload or Workload(),
        limits=limits,
        rebuild=rebuild,
        store=place_of(store),
        command=own_command(),
    )
    run = build_engine(request, MeasurementObserver()).run
    raise_unless_ok(run)
    assert run.build is not None
    return replace(run.build, engine=str(engine)) if engine is not None else run.build


def _backend(request: BuildRequest) -> BackendSpec:
    from enginescope.backends.base import Builder
    from enginescope.backends.registry import load_backend, parse_backend

    spec = parse_backend(request.backend)
    if not isinstance(load_backend(spec.name), Builder):
        raise UsageError(f"{spec.name} builds no engines", hint="--on trt")
    twice = sorted(request.options.keys() & spec.options.keys())
    if twice:
        raise UsageError(twice[0], why="it is given both in --on and as an option")
    return replace(spec, options={**spec.options, **request.options})


def _copied(source: Path, target: Path) -> tuple[Path, ...]:
    """Copy an engine and the files beside it in the cache."""
    names = [file.name for file in sorted(source.parent.iterdir())]
    endings = [name[len(source.name) :] for name in names if name.startswith(f"{source.name}.")]
    files = []
    for ending in ("", *endings):
        files.append(target.with_name(target.name + ending))
        shutil.copyfile(source.with_name(source.name + ending), files[-1])
    return tuple(files)
