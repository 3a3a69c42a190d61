"""Plan input from an engine file, which TensorRT inspects."""

from __future__ import annotations

from pathlib import Path

import msgspec

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.formats.importing.plan_files import PlanFiles, ReadBeside, read_beside_engine
from enginescope.records.run.run import Run
from enginescope.services.plans.observer import PlanObserver
from enginescope.services.plans.plan_input import CompanionFiles, PlanInput, input_of_run


def engine_input(
    path: Path, companions: CompanionFiles, observer: PlanObserver, *, label: str | None = None
) -> PlanInput:
    """Inspect an engine in a process of its own, and read the layer times beside the file.

    Args:
        label: The engine's name in messages; by default its path.

    Raises:
        UsageError: TensorRT reports no layers of it.
        MissingDependencyError: TensorRT, CUDA or a GPU is missing.
        BackendError: The engine cannot be loaded here.
        FormatError: A companion file cannot be used.
    """
    read = read_beside_engine(path, PlanFiles(plan=path, **companions._asdict()))
    run = _inspected(path, label or str(path), observer)
    if run.plan is None:
        reasons = [notice for notice in run.notices if notice.code == "W-NO-PLAN"]
        raise UsageError(
            f"{label or path} has no plan to look into",
            why=reasons[0].evidence.get("why", reasons[0].message) if reasons else None,
            hint="build it without version_compatible=1; enginescope bench times its layers anyhow",
        )
    run = _with(run, read)
    return input_of_run(run, kind="engine", where=str(path))


def _inspected(path: Path, label: str, observer: PlanObserver) -> Run:
    from enginescope.runner.inspection import inspect_engine

    text = f"asking TensorRT about {label} …"
    try:
        return inspect_engine(path, on_started=lambda: observer.progress(text))
    except MissingDependencyError as error:
        hint, written = error.hint, _written_plan(path)
        if written is not None:
            hint = f"{hint}; or give {written}, which lies beside it"
        why = f"looking into {path.name} needs it"
        raise MissingDependencyError(error.what, why=why, hint=hint) from error


def _written_plan(engine: Path) -> Path | None:
    """Return the JSON that was written of the engine, if it lies beside it."""
    names = (f"{engine.name}.graph.json", f"{engine.stem}.graph.json")
    return next((one for one in map(engine.with_name, names) if one.is_file()), None)


def _with(run: Run, read: ReadBeside) -> Run:
    return msgspec.structs.replace(
        run,
        profile=read.profile,
        samples=read.times.samples if read.times else run.samples,
        timer_resolution_ms=read.times.clock_step_ms if read.times else run.timer_resolution_ms,
        tool=read.report,
        notices=(*run.notices, *read.notices),
        artifacts=read.artifacts,
    )
