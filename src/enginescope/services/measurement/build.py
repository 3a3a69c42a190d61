"""Build engines, each in a fresh process, or take them from the cache."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from enginescope.core.errors import UsageError
from enginescope.core.record import Record, replace
from enginescope.records.plan.build import BuildReport
from enginescope.records.run.job import BackendSpec
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.services.declared import File, Param, path_of, python_function, unflagged
from enginescope.services.measurement.jobs import ProcessRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.store_access import writable_store


class _EngineRequest(ProcessRequest, frozen=True):
    model: Annotated[File, Param("ONNX model.")]
    engine: Annotated[
        File | None,
        unflagged(
            "Engine to write, with its metadata, log and graph next to it.",
            usual="it stays in the engine cache",
        ),
    ] = None


class BuildRequest(_EngineRequest, frozen=True, kw_only=True):
    """What to build, and where to write it: the parameters of `build`.

    `limits` are used as they are; ``None``: from `timeout_s` and `memory_bytes`.
    """

    on: Annotated[str, Param("Backend and precision to build with: trt, trt:fp16, …")] = "trt"
    options: Annotated[
        Mapping[str, str], unflagged("Further options of the backend: opt_shapes, workspace, …")
    ] = {}
    rebuild: Annotated[bool, Param("Rebuild engines even if the cache has them.")] = False
    timeout_s: float | None = None
    memory_bytes: int | None = None


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

    model = Path(request.model)
    engine = path_of(request.engine)
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


def _build(request: BuildRequest, observer: MeasurementObserver) -> BuildReport:
    """Build a TensorRT engine in a fresh process, or take it from the cache.

    Returns:
        The report; ``report.engine`` is the path.

    Raises:
        UsageError: The model is an engine or does not exist, the backend builds no engines, an
            option has two values, or the engine cannot be written there.
        UnsupportedError, BackendError: It cannot be built, or building failed.
    """
    run = build_engine(request, observer).run
    raise_unless_ok(run)
    assert run.build is not None
    return run.build if request.engine is None else replace(run.build, engine=str(request.engine))


build = python_function("build", BuildRequest, _build)


def _backend(request: BuildRequest) -> BackendSpec:
    from enginescope.backends.base import Builder
    from enginescope.backends.registry import load_backend, parse_backend

    spec = parse_backend(request.on)
    if not isinstance(load_backend(spec.name), Builder):
        raise UsageError(f"{spec.name} builds no engines", hint="`on` trt")
    twice = sorted(request.options.keys() & spec.options.keys())
    if twice:
        raise UsageError(twice[0], why="it is given both in `on` and as an option")
    return replace(spec, options={**spec.options, **request.options})


def _copied(source: Path, target: Path) -> tuple[Path, ...]:
    names = [file.name for file in sorted(source.parent.iterdir())]
    endings = [name[len(source.name) :] for name in names if name.startswith(f"{source.name}.")]
    files = []
    for ending in ("", *endings):
        files.append(target.with_name(target.name + ending))
        shutil.copyfile(source.with_name(source.name + ending), files[-1])
    return tuple(files)
