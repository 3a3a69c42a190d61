"""An engine file that was given: what TensorRT tells of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from enginescope.core.errors import MissingDependencyError, UsageError
from enginescope.formats.plan_files import PlanFiles, ReadBeside, read_beside_engine
from enginescope.model.run import Run
from enginescope.plan_source import Beside, PlanSource, Say, silent, source_of_run


def engine_source(
    path: Path, beside: Beside, *, called: str | None = None, say: Say = silent
) -> PlanSource:
    """Return an engine's plan, asked of TensorRT, with the layer times that lie beside the file.

    Parameters
    ----------
    called : str, optional
        How messages call it; by default its path.
    say : callable (str), optional
        Is told that TensorRT is asked: that takes seconds.

    Raises
    ------
    UsageError
        TensorRT tells nothing of its layers.
    MissingDependencyError
        TensorRT, CUDA or a GPU is missing.
    BackendError
        It cannot be loaded here.
    FormatError
        A file that was named cannot be used.
    """
    read = read_beside_engine(path, PlanFiles(plan=path, **beside._asdict()))
    run = _inspected(path, called or str(path), say)
    if run.plan is None:
        said = [one for one in run.notices if one.code == "W-NO-PLAN"]
        raise UsageError(
            f"{called or path} has no plan to look into",
            why=said[0].evidence.get("why", said[0].message) if said else None,
            hint="build it without version_compatible=1; enginescope bench times its layers anyhow",
        )
    run = _with(run, read)
    return source_of_run(run, kind="engine", where=str(path))


def _inspected(path: Path, called: str, say: Say) -> Run:
    from enginescope.runner.inspection import inspect_engine

    said = f"asking TensorRT about {called} …"
    try:
        return inspect_engine(path, on_started=lambda: say(said))
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
