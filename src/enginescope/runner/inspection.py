"""What an engine consists of, asked in a process of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from enginescope.backends.base import Inspecting
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import BackendError, UnsupportedError, UsageError
from enginescope.model.job import Job, Mode, Workload
from enginescope.model.run import Outcome, OutcomeKind, Run
from enginescope.runner.assemble import assemble
from enginescope.runner.demands import check_demands
from enginescope.runner.isolate import run_isolated
from enginescope.runner.jobs import subject_of


def inspect_engine(
    path: Path, on: str = "trt", *, on_started: Callable[[], None] = lambda: None
) -> Run:
    """Return a run without samples: an engine's plan, its GPU and versions, and what was noticed.

    Parameters
    ----------
    path : Path
    on : str
        Backend specification; its options load the engine, as ``trt?plugins=libmine.so``.
    on_started : callable
        Called when nothing is missing, before the engine is loaded: that may take a while.

    Raises
    ------
    UsageError
        The file is not there, or the backend cannot look into engines.
    MissingDependencyError
        TensorRT, CUDA or a GPU is missing.
    UnsupportedError, BackendError
        The engine cannot be loaded here, or loading it failed.
    """
    spec = parse_backend(on)
    if not isinstance(load_backend(spec.name), Inspecting):
        raise UsageError(f"{spec.name} cannot look into an engine", hint="trt can")
    subject = msgspec.structs.replace(subject_of(path), kind="engine")
    check_demands(spec, Mode())
    job = Job(subject=subject, backend=spec, workload=Workload(mode=Mode(kind="latency")))
    on_started()
    folder = Path(tempfile.mkdtemp(prefix="enginescope-"))
    try:
        ended = run_isolated(job, folder, lambda _: None, "inspect")
        run = assemble(job, ended, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _raise_unless_ok(run.outcome, path)
    created = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    # the memory of a process that only asked is no figure of the engine, and its files are gone
    return msgspec.structs.replace(
        run, created=created, telemetry=None, peak_memory_bytes=None, artifacts=()
    )


def _raise_unless_ok(outcome: Outcome, path: Path) -> None:
    if outcome.kind is OutcomeKind.OK:
        return
    kind = UnsupportedError if outcome.kind is OutcomeKind.UNSUPPORTED else BackendError
    raise kind(f"{path} cannot be looked into", why=outcome.message, hint=outcome.hint)
