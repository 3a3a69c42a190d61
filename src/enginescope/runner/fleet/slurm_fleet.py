"""Cells as jobs of a Slurm cluster, through submitit: a job for each, in the queue all at once.

A job has its machine to itself where the cell asks for it or runs on the processor; else it shares
one, with a GPU of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from enginescope.core.errors import BackendError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_task import (
    Doing,
    FleetWatch,
    Lost,
    longest_s,
    packed_task,
    unpacked_returned,
)
from enginescope.runner.fleet.machines import is_alone, uses_gpu

#: A cell is given up when its job was lost so often.
LOSSES = 2
#: Between two looks at the jobs.
_LOOK_S = 2.0


class _Job(Record, frozen=True, kw_only=True, eq=False):
    """A cell in the queue or on a machine."""

    cell: Cell
    job: Any
    losses: int


class SlurmFleet:
    """A Slurm cluster, or its stand-in of this machine.

    Args:
        folder: On a file system that all machines share; submitit's files go there.
        doing: What a job calls; importable on every machine.
        options: Of sbatch, for every job: partition, account, qos …
        cluster: ``local``: processes of this machine in place of jobs.
    """

    def __init__(
        self, folder: Path, doing: Doing, options: Mapping[str, str], cluster: str = "slurm"
    ) -> None:
        submitit = require("submitit", purpose="--on-slurm", install="enginescope[slurm]")
        self._doing = doing
        self._options = dict(options)
        self._folder = folder
        self._cluster = cluster
        self._make: Callable[[], Any] = lambda: submitit.AutoExecutor(
            folder=str(folder.resolve()), cluster=cluster
        )

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell; see `Fleet`."""
        jobs: list[_Job] = []
        try:
            for cell in cells:
                jobs.append(self._submit(cell, command, 0))
                watch.started(cell, f"job {jobs[-1].job.job_id}")
            while jobs:
                for one in [job for job in jobs if job.job.done()]:
                    jobs.remove(one)
                    again = self._take(one, command, watch)
                    jobs += [again] if again else []
                time.sleep(_LOOK_S if jobs else 0.0)
        except BaseException:  # also on Ctrl-C: what was submitted would go on
            for one in jobs:
                one.job.cancel(check=False)
            raise

    def _submit(self, cell: Cell, command: str | None, losses: int) -> _Job:
        executor = self._make()
        executor.update_parameters(**self._parameters(cell))
        try:
            job = executor.submit(self._doing, packed_task(cell, command))
        except (OSError, RuntimeError) as error:  # submitit's of sbatch is a RuntimeError
            raise BackendError(
                "Slurm accepts no jobs", why=str(error), hint="sinfo lists the partitions"
            ) from error
        return _Job(cell=cell, job=job, losses=losses)

    def _parameters(self, cell: Cell) -> dict[str, Any]:
        """Return what submitit is to ask for: time, GPUs and their kind, the machine alone."""
        found: dict[str, Any] = {
            "name": f"enginescope-{cell.key}",
            "timeout_min": math.ceil(longest_s(cell) / 60),
        }
        if self._cluster != "slurm":
            return found
        more: dict[str, Any] = dict(self._options)
        if uses_gpu(cell):
            kind = f"{cell.needs.gpu.lower()}:" if cell.needs.gpu else ""
            more.setdefault("gres", f"gpu:{kind}1")
        if is_alone(cell):
            more.setdefault("exclusive", True)
        return {**found, "slurm_additional_parameters": more}

    def _take(self, one: _Job, command: str | None, watch: FleetWatch) -> _Job | None:
        """Take what a job came to; return the next one, where it was lost for the first time."""
        failed = one.job.exception()
        if failed is None:
            watch.returned(one.cell, unpacked_returned(one.job.result()))
            return None
        losses = one.losses + 1
        why = _why(failed, str(one.job.state))
        if losses < LOSSES:
            watch.again(one.cell, f"job {one.job.job_id} was lost ({why})")
            return self._submit(one.cell, command, losses)
        watch.lost(
            Lost(
                cell=one.cell,
                reason=f"its job was lost {LOSSES} times: {why}",
                hint=f"its output: {one.job.paths.stderr}",
                attempts=LOSSES,
            )
        )
        return None


def _why(error: BaseException, state: str) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return f"{state.lower()}: {last}" if state not in ("DONE", "FINISHED") else last
