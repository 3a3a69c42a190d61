"""One cell of a suite measured in fresh processes, whatever becomes of it."""

from __future__ import annotations

import secrets
from datetime import datetime, timezone

import msgspec

from enginescope.core.errors import EnginescopeError
from enginescope.probe.environment import probe_environment
from enginescope.probe.nvml import probe_devices
from enginescope.records.run.job import Job
from enginescope.records.run.run import Outcome, OutcomeKind, Run
from enginescope.records.run.watcher import Watcher
from enginescope.records.suite.suite import Cell
from enginescope.runner.capability_checks import check_demands, check_subject
from enginescope.runner.fleet.machines import is_kind
from enginescope.runner.session import Sink, run_jobs


def measure_cell(
    cell: Cell, sink: Sink, *, command: str | None = None, watcher: Watcher | None = None
) -> tuple[tuple[Run, ...], int]:
    """Measure a cell in as many processes as it asks for, one after another.

    Each is tried again as often as it fails and `Cell.retries` allows; the first that fails for
    good ends the cell.

    Args:
        sink: Gets the run of each attempt as soon as it has ended, whatever the outcome.
        watcher: Is told the number of the process, from 0, as the index.

    Returns:
        Of the last attempt of each process, in order; where the cell fails, the last is the one
        that did. What cannot be run here at all is a run too, ``unsupported``.
        Attempts of the process that took most of them.
    """
    refused = refusal_of(cell)
    if refused is not None:
        run = refused_run(cell.job, refused, command)
        sink(run)
        return (run,), 1
    runs: list[Run] = []
    most = 1
    for number in range(cell.processes):
        attempts = 0
        while attempts <= cell.retries:
            attempts += 1
            told = _numbered(watcher, number)
            (run,) = run_jobs((cell.job,), sink, command=command, watcher=told)
            if run.outcome.kind in (OutcomeKind.OK, OutcomeKind.UNSUPPORTED):
                break
        runs.append(run)
        most = max(most, attempts)
        if run.outcome.kind is not OutcomeKind.OK:
            break
    return tuple(runs), most


def _numbered(watcher: Watcher | None, number: int) -> Watcher | None:
    """Return a watcher that is told of one job as of the one with that number."""
    if watcher is None:
        return None
    return Watcher(
        started=lambda _, job: watcher.started(number, job),
        progressed=lambda _, progress: watcher.progressed(number, progress),
    )


def refusal_of(cell: Cell) -> Outcome | None:
    """Return why a cell cannot be run here, known without starting anything; ``None``: it can."""
    kind = OutcomeKind.UNSUPPORTED
    if cell.refusal is not None:
        return Outcome(kind=kind, message=cell.refusal)
    lacking = _lacking_gpu(cell)
    if lacking is not None:
        return Outcome(kind=kind, message=lacking)
    try:
        check_demands(cell.job.backend, cell.job.workload.mode)
        check_subject(cell.job.backend, cell.job.subject)
    except EnginescopeError as error:
        return Outcome(kind=kind, message=str(error), hint=error.hint)
    return None


def _lacking_gpu(cell: Cell) -> str | None:
    wanted = cell.needs.gpu
    if wanted is None:
        return None
    names = [device.name for device in probe_devices()]
    if any(is_kind(wanted, name) for name in names):
        return None
    return f"it asks for a GPU called {wanted}; here is {', '.join(names) or 'none that is seen'}"


def refused_run(job: Job, outcome: Outcome, command: str | None) -> Run:
    """Return the run of a job that was not started."""
    return Run(
        id=secrets.token_hex(6),
        created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        origin="measured",
        job=job,
        outcome=outcome,
        environment=probe_environment(),
        command=command,
    )


def on_cores(cell: Cell, cores: tuple[int, ...]) -> Cell:
    """Return a cell that runs on these logical processors alone; none: as it was."""
    if not cores:
        return cell
    conditions = msgspec.structs.replace(cell.job.conditions, pinned_cores=cores)
    return msgspec.structs.replace(
        cell, job=msgspec.structs.replace(cell.job, conditions=conditions)
    )
