"""Models and backends into jobs; what a backend cannot do is said before anything is started."""

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from enginescope.backends.base import Deciding, Demanding, DemandingForBuild
from enginescope.backends.profile_bounds import check_index
from enginescope.backends.registry import backends_with, load_backend, parse_backend
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import sha256_of
from enginescope.core.record import replace
from enginescope.core.suggest import closest
from enginescope.formats.onnx.onnx_inputs import check_model_file
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES, header_of
from enginescope.records.run.job import (
    CPU_BACKEND,
    BackendSpec,
    Job,
    Limits,
    Mode,
    ProfileMode,
    Subject,
    TelemetryRule,
    Workload,
)
from enginescope.runner.inputs.sample_feeds import check_input_names
from enginescope.runner.model_inputs import settled_workload


def check_subject(spec: BackendSpec, subject: Subject) -> None:
    """Raise if an engine is asked for what it was not built with, or will not be."""
    if subject.kind == "onnx":
        check_index(spec.options, spec.profile_index)
    backend = load_backend(spec.name)
    if subject.kind != "engine" or not isinstance(backend, Deciding):
        return
    decided = backend.decided_by_build(spec)
    if decided:
        why = "that was decided when the engine was built"
        hint = f"`on` {spec.name}, or build the model again"
        raise UsageError(f"{spec.name} with {decided[0]} for {subject.name}", why=why, hint=hint)


def check_demands(
    spec: BackendSpec, mode: Mode, *, only_builds: bool = False, is_elsewhere: bool = False
) -> None:
    """Raise unless the backend issues requests as asked, and this machine has what it needs.

    Args:
        only_builds: What is built does not run here.
        is_elsewhere: Another Python builds and runs it, so that nothing is needed here.
    """
    backend = load_backend(spec.name)
    for field in Mode.__struct_fields__:
        asked = getattr(mode, field)
        is_usual = field == "in_flight" or asked in (None, "latency")
        if not is_usual and field not in backend.mode_fields:
            able = ", ".join(backends_with(field))
            what = f"`{field}`{' throughput' * (field == 'kind')}"
            raise UsageError(f"{spec.name} has no {what}", hint=f"omit it, or measure on {able}")
    if is_elsewhere:
        return
    if only_builds and isinstance(backend, DemandingForBuild):
        backend.require_for_build(spec)
    elif isinstance(backend, Demanding):
        backend.require(spec)


#: Left to everything but warm-up and timed loop, where those alone come near the usual timeout.
BESIDE_TIMING_S = 300.0
#: Models named where another was asked for.
_SHOWN = 8


def make_jobs(
    models: Sequence[Path],
    backends: Sequence[str],
    workload: Workload,
    *,
    limits: Limits | None = None,
    layer_profile: bool = True,
    profile_mode: ProfileMode = "gated",
    data: str = "auto",
    engine_cache: Path | None = None,
    rebuild: bool = False,
    has_its_inputs: bool = True,
    only_builds: bool = False,
    is_elsewhere: bool = False,
) -> tuple[Job, ...]:
    """Return one job for each model and backend, models outermost.

    Args:
        backends: Specifications such as ``ort-cpu?intra_op_num_threads=1``.
        limits: By default those of `limits_for`.
        data: ``auto``: the workload's own, else a ``test_data_set_*`` folder beside the model, if
            there is one; ``none``; or a folder.
        engine_cache: Where built engines are kept.
        rebuild: Build them anew.
        has_its_inputs: Whether each model must have every input that the workload names.
        only_builds: The engines are not run here.
        is_elsewhere: Another Python builds and runs them.

    Raises:
        UsageError: A model or folder that is not there, a file that is not a model, an input that a
            model does not have, a backend that is not known, or one that would not issue requests
            as the workload says.
        MissingDependencyError: A backend needs what is not installed here.
    """
    specs = [parse_backend(text) for text in backends]
    for spec in specs:
        check_demands(spec, workload.mode, only_builds=only_builds, is_elsewhere=is_elsewhere)
    jobs = []
    for model in models:
        subject = subject_of(model)
        check_model_file(model)
        for spec in specs:
            check_subject(spec, subject)
        if has_its_inputs:
            check_input_names(subject, workload)
        settled = settled_workload([model], workload, has_every_dim=has_its_inputs)
        fed = replace(settled, data_set=_data_set(model, data, settled))
        jobs += [
            Job(
                subject=subject,
                backend=spec,
                workload=fed,
                layer_profile=layer_profile,
                profile_mode=profile_mode,
                limits=limits or limits_for(workload),
                engine_cache=str(engine_cache.absolute()) if engine_cache else None,
                rebuild=rebuild,
            )
            for spec in specs
        ]
    return tuple(jobs)


def limits_for(
    workload: Workload, *, timeout_s: float | None = None, memory_bytes: int | None = None
) -> Limits:
    """Return the limits of a worker; without a timeout, one that leaves `workload` its time."""
    build_s = timeout_s or Limits().build_timeout_s
    if timeout_s is None:
        stop, warmup = workload.stop, workload.warmup
        timed_ms = stop.duration_ms or (0.0 if stop.iterations else stop.hard_limit_ms)
        asked_ms = timed_ms + max(warmup.time_ms, warmup.limit_ms)
        timeout_s = max(Limits().timeout_s, asked_ms / 1e3 + BESIDE_TIMING_S)
    return Limits(timeout_s=timeout_s, build_timeout_s=build_s, memory_bytes=memory_bytes)


def usual_backend(model: str | PathLike[str]) -> str:
    """Return the backend that measures a model where none was named: TensorRT for an engine."""
    return runtime_of(Path(model)) if Path(model).suffix.lower() in ENGINE_SUFFIXES else CPU_BACKEND


def runtime_of(engine: Path) -> str:
    """Return the backend that runs an engine: the TensorRT that its header names."""
    header = header_of(engine)
    return "trt-rtx" if header is not None and header.is_rtx else "trt"


def subject_of(path: Path) -> Subject:
    """Return the identity of a model file."""
    try:
        if not path.is_file():
            why = "it is a folder, not a file" if path.is_dir() else "no such file"
            raise UsageError(f"model {path}", why=why, hint=_neighbour(path))
        whole, digest, size = str(path.resolve()), sha256_of(path), path.stat().st_size
        whole.encode()
    except OSError as error:  # not ours to read, or a name too long
        raise UsageError(f"model {path}", why=error.strerror or str(error)) from error
    except UnicodeEncodeError as error:
        what = f"model {str(path)!a}"
        raise UsageError(what, why="its path is not UTF-8", hint="rename it") from error
    # a file's name with that of its folder, where the name alone says nothing
    name = f"{path.resolve().parent.name}/{path.name}" if path.stem == "model" else path.name
    return Subject(
        name=name,
        kind="engine" if path.suffix.lower() in ENGINE_SUFFIXES else "onnx",
        path=whole,
        sha256=digest,
        size_bytes=size,
    )


def watched(
    jobs: Sequence[Job], rule: TelemetryRule, *, is_bounded: bool = False
) -> tuple[Job, ...]:
    """Return the jobs with what is asked of the GPU, and the time that it takes.

    Args:
        is_bounded: Their timeouts were asked for, and stay as they are.
    """
    more_s = 0.0 if is_bounded else rule.whole_ms / 1e3
    return tuple(
        replace(
            job, telemetry=rule, limits=replace(job.limits, timeout_s=job.limits.timeout_s + more_s)
        )
        for job in jobs
    )


def _neighbour(path: Path) -> str | None:
    folder = path if path.is_dir() else path.parent
    if not folder.is_dir():
        return None
    stems = {one.stem: one for one in sorted(folder.glob("*.onnx"))}
    near = closest(path.stem, stems)  # the suffix is alike in all of them
    if near or len(stems) == 1:
        return f"did you mean {stems[near or next(iter(stems))]}?"
    more = f" and {len(stems) - _SHOWN} more" if len(stems) > _SHOWN else ""
    names = ", ".join(str(stem) for stem in list(stems.values())[:_SHOWN])
    return f"there: {names}{more}" if stems else "enginescope models list"


def _data_set(model: Path, data: str, workload: Workload) -> str | None:
    if data == "none":
        return None
    if data == "auto" and workload.data_set is not None:
        return workload.data_set
    if data == "auto":
        beside = model.resolve().parent.glob("test_data_set_*")
        return min((str(folder) for folder in beside if folder.is_dir()), default=None)
    folder = Path(os.path.expanduser(data))  # noqa: PTH111 - Path's raises where there is no such user
    if not folder.is_dir():
        raise UsageError(f"data set {data}", why="no such folder")
    if not any(folder.glob("input_*.pb")):
        hint = "a folder such as test_data_set_0, or --input NAME:FILE for each input"
        raise UsageError(f"data set {data}", why="it holds no input_*.pb", hint=hint)
    return str(folder.resolve())
