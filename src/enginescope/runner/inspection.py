"""What an engine consists of, asked in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from enginescope.backends.base import Inspecting
from enginescope.backends.registry import load_backend, parse_backend
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Job, Mode, Workload
from enginescope.records.run.run import Run
from enginescope.runner.assemble import assemble
from enginescope.runner.inputs.collect_outputs import raise_unless_ok
from enginescope.runner.isolate import run_isolated
from enginescope.runner.jobs import check_demands, runtime_of, subject_of


def inspect_engine(
    path: Path, on: str | None = None, *, on_started: Callable[[], None] = lambda: None
) -> Run:
    """Return a run without samples: an engine's plan, its GPU and versions, and what was noticed.

    Args:
        on: Backend specification; its options load the engine, as ``trt?plugins=libmine.so``; by
            default the TensorRT that the engine's header names.
        on_started: Called when nothing is missing, before the engine is loaded: that may take a
            while.
    """
    spec = parse_backend(on or runtime_of(path))
    if not isinstance(load_backend(spec.name), Inspecting):
        raise UsageError(f"{spec.name} cannot inspect an engine", hint="trt can")
    subject = replace(subject_of(path), kind="engine")
    check_demands(spec, Mode())
    job = Job(subject=subject, backend=spec, workload=Workload(mode=Mode(kind="latency")))
    on_started()
    with temporary_folder() as folder:
        ended = run_isolated(job, folder, lambda _: None, "inspect")
        run = assemble(job, ended, folder)
    raise_unless_ok(run.outcome, f"{path} cannot be inspected")
    created = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    # the memory of a process that only asked is not a figure of the engine, and its files are gone
    return replace(run, created=created, telemetry=None, peak_memory_bytes=None, artifacts=())
