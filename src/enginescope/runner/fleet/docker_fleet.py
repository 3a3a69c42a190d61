"""Cells in containers of this machine, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.errors import BackendError, FormatError
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_task import (
    REMOTE_CELL,
    FleetWatch,
    Lost,
    longest_s,
    packed_task,
    unpacked_returned,
)
from enginescope.runner.fleet.container import Container, Mount, mounts_of_job
from enginescope.runner.fleet.machines import uses_gpu


def mounts_of(cell: Cell) -> tuple[Mount, ...]:
    """Return the folders that a cell needs, each once, none inside another of the same kind."""
    reference = cell.checking.reference
    return mounts_of_job(cell.job, (*cell.data_sets, *([reference] if reference else [])))


class DockerFleet:
    """Containers of one image; see `Container`.

    Args:
        references: Folder of the session's reference outputs.
    """

    def __init__(self, image: str, references: str | None = None) -> None:
        self._container = Container(image, needed_by="--in-docker")
        self._image, self._references = image, references

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell; see `Fleet`."""
        for cell in cells:
            watch.started(cell, f"container of {self._image}")
            shared = self._references if cell.mode != "benchmark" else None
            written = (Mount(folder=shared, is_writable=True),) if shared is not None else ()
            try:
                data = self._container.exchange(
                    REMOTE_CELL,
                    packed_task(cell, command, is_placed=False, references=shared),
                    longest_s(cell),
                    (*mounts_of(cell), *written),
                    label=cell.key,
                    uses_gpu=uses_gpu(cell),
                )
                returned = unpacked_returned(data)
            except (BackendError, FormatError) as error:  # another version is in the image
                watch.lost(Lost(cell=cell, reason=str(error), hint=error.hint))
            else:
                watch.returned(cell, returned)
