"""Cells as arrays of a Slurm cluster: one ``sbatch`` for all that ask for the same.

A task has its machine to itself where its cell asks for it or runs on the processor; else it shares
one, with a GPU of its own. A task that leaves the queue without a result was lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from enginescope.core.errors import FormatError, UsageError
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_array import CellArray, arrays_of
from enginescope.runner.fleet.cell_task import FleetWatch, Lost, last_line, unpacked_returned
from enginescope.runner.fleet.machines import is_alone, uses_gpu
from enginescope.runner.fleet.slurm_queue import LocalQueue, SlurmQueue

#: A cell is given up when its task was lost so often.
LOSSES = 2
#: Options of sbatch that are not the user's: by them tasks are found again.
_OURS = ("array", "job-name", "parsable", "wrap")
#: Between two looks at the queue.
_LOOK_S = 5.0


class _Task(NamedTuple):
    """A cell in the queue or on a machine."""

    cell: Cell
    result: Path
    log: Path
    losses: int


class SlurmFleet:
    """A Slurm cluster, or processes of this machine in its place.

    Args:
        folder: Folder of the suite, on a file system that all machines share.
        options: Of sbatch, for every array: partition, account, qos …
        jobs: Tasks at a time; ``None``: as many as there is room for.
        cluster: ``local``: processes of this machine.

    Raises:
        UsageError: An option is not the user's to set.
    """

    def __init__(
        self,
        folder: Path,
        options: Mapping[str, str],
        jobs: int | None = None,
        cluster: str = "slurm",
    ) -> None:
        self._folder, self._jobs = folder.resolve(), jobs
        self._options = {key.replace("_", "-"): value for key, value in options.items()}
        for name in set(_OURS) & set(self._options):
            raise UsageError(f"option {name} of sbatch", why="enginescope sets it")
        self._queue = LocalQueue() if cluster == "local" else SlurmQueue()

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell; see `Fleet`."""
        begun: set[str] = set()
        gone: dict[str, float] = {}
        try:
            tasks = self._submitted(cells, command, 0)
            while tasks:
                time.sleep(_LOOK_S)
                # before the results: a task that is no longer there has left its own
                places = self._queue.places()
                again = []
                for name, task in list(tasks.items()):
                    place, data = places.get(name), _read(task.result)
                    if (place or data) and name not in begun:
                        begun.add(name)
                        watch.started(task.cell, f"job {name} on {place or 'Slurm'}")
                    if data is None and place is not None:
                        gone.pop(name, None)  # requeued
                        continue
                    now = time.monotonic()
                    if data is None and now - gone.setdefault(name, now) < self._queue.late_s:
                        continue
                    del tasks[name]
                    if _take(name, task, data, watch):
                        again.append(task.cell)
                tasks |= self._submitted(again, command, 1)
        except BaseException:  # also on Ctrl-C: what was submitted would go on
            self._queue.cancel()
            raise

    def _submitted(
        self, cells: Sequence[Cell], command: str | None, losses: int
    ) -> dict[str, _Task]:
        tasks: dict[str, _Task] = {}
        logs = self._folder / "slurm"
        for array in arrays_of(cells, self._folder):
            array.write(command)
            logs.mkdir(exist_ok=True)
            for cell in array.cells:  # what could not be read of a former session
                array.result(cell).unlink(missing_ok=True)
            job = self._queue.submit(array, self.options_of(array), logs)
            for index, cell in enumerate(array.cells):
                log = logs / f"{job}_{index}.log"
                tasks[f"{job}_{index}"] = _Task(cell, array.result(cell), log, losses)
        return tasks

    def options_of(self, array: CellArray) -> dict[str, str]:
        """Return the options of sbatch for an array; those of the user come last."""
        first = array.cells[0]
        last = f"{len(array.cells) - 1}"
        options = {
            "array": f"0-{last}%{self._jobs}" if self._jobs else f"0-{last}",
            "time": str(math.ceil(array.limit_s / 60)),
            "no-requeue": "",  # a task that loses two machines is given up
        }
        if uses_gpu(first):
            kind = f"{first.needs.gpu.lower()}:" if first.needs.gpu else ""
            options["gres"] = f"gpu:{kind}1"
        if is_alone(first):
            options["exclusive"] = ""
        return {**options, **self._options}


def _take(name: str, task: _Task, data: bytes | None, watch: FleetWatch) -> bool:
    """Report what a task came to; return whether to run its cell once more."""
    try:
        if data is not None:
            watch.returned(task.cell, unpacked_returned(data))
            task.result.unlink(missing_ok=True)
            return False
        why = last_line(_read(task.log) or b"") or "it left no result"
    except FormatError as error:
        why = f"{task.result}: {error}"
    if task.losses + 1 < LOSSES:
        watch.again(task.cell, f"job {name} was lost ({why})")
        return True
    reason, hint = f"its job was lost {LOSSES} times: {why}", f"its output: {task.log}"
    watch.lost(Lost(cell=task.cell, reason=reason, hint=hint, attempts=LOSSES))
    return False


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
