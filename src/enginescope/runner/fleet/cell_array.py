"""Cells as an array of a scheduler: one submission, whose task index picks the cell.

An array's file holds the tasks of its cells in the order of the indexes. Each task leaves its
result in a file that has the key of the cell as its name, so that any later session can collect it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import StoreError, UsageError
from enginescope.core.jsonio import write_atomic
from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell, Needs
from enginescope.runner.fleet.cell_task import (
    REMOTE_CELL,
    CellTask,
    longest_s,
    packed_tasks,
    unpacked_tasks,
)
from enginescope.runner.fleet.machines import uses_gpu

#: Folders in a suite's folder: files of arrays, results of cells, and reference outputs.
TASKS, RESULTS, REFERENCES = "tasks", "returned", "references"
#: Third argument of `REMOTE_CELL`: the others are an array's file and the folder of results.
INDEXED = "indexed"
#: Cells of one array: Slurm's default MaxArraySize is 1,001.
_MOST_CELLS = 1_000
#: Slurm's first: it passes on what it finds in a pod that submits.
_INDEXES = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX")


class CellArray(Record, frozen=True, kw_only=True):
    """Cells that ask for the same machine and GPU.

    Attributes:
        name: Unique among all arrays.
        folder: Folder of the suite, at the same path on every machine.
    """

    name: str
    cells: tuple[Cell, ...]
    folder: Path

    @property
    def file(self) -> Path:
        """The file of its tasks."""
        return self.folder / TASKS / self.name

    @property
    def limit_s(self) -> float:
        """Time limit of each task: that of the longest cell."""
        return max(map(longest_s, self.cells))

    def result(self, cell: Cell) -> Path:
        """Return the file that the task of a cell leaves."""
        return self.folder / RESULTS / cell.key

    def arguments(self) -> list[str]:
        """Return what a Python is started with to run the task whose index is set there."""
        return ["-m", REMOTE_CELL, str(self.file), str(self.folder / RESULTS), INDEXED]

    def write(self, command: str | None) -> None:
        """Write the file of its tasks, and make the folder of results.

        Args:
            command: The command line to record.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / RESULTS).mkdir(exist_ok=True)
            references = str(self.folder / REFERENCES)
            write_atomic(self.file, packed_tasks(self.cells, command, references))
        except OSError as error:
            raise StoreError(f"cannot write {error.filename}", why=error.strerror) from error


def arrays_of(cells: Sequence[Cell], folder: Path) -> list[CellArray]:
    """Return cells in arrays: one for all that ask for the same.

    Args:
        folder: Folder of the suite.
    """
    alike: dict[tuple[bool, Needs], list[Cell]] = {}
    for cell in cells:
        alike.setdefault((uses_gpu(cell), cell.needs), []).append(cell)
    return [
        CellArray(
            name=secrets.token_hex(5),
            cells=tuple(group[begin : begin + _MOST_CELLS]),
            folder=folder.resolve(),
        )
        for group in alike.values()
        for begin in range(0, len(group), _MOST_CELLS)
    ]


def task_of_index(data: bytes) -> CellTask:
    """Return the task whose index the scheduler has set in this process's environment.

    Raises:
        FormatError: The file is of another version of enginescope.
        UsageError: There is no index, or no task with it.
    """
    tasks = unpacked_tasks(data)
    index = next((os.environ[name] for name in _INDEXES if name in os.environ), "")
    if not index.isdecimal() or int(index) >= len(tasks):
        raise UsageError(
            f"task index {index!r}",
            why=f"the array has {len(tasks)} cells, from 0",
            hint=f"Slurm and Kubernetes set {' or '.join(_INDEXES)}",
        )
    return tasks[int(index)]
