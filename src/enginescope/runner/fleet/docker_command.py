"""The command line that does a cell in a container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.machines import uses_gpu

ERRAND, RETURNED = "errand", "returned"
_MODULE = "enginescope.cell_errand"


class Mount(Record, frozen=True, kw_only=True):
    """A folder of this machine that is at the same place in the container."""

    folder: str
    is_writable: bool = False

    def __str__(self) -> str:
        """Return it as ``--mount`` takes it."""
        text = f"type=bind,source={self.folder},target={self.folder}"
        return text if self.is_writable else f"{text},readonly"


def docker_command(docker: str, image: str, cell: Cell, work: Path, *, name: str) -> list[str]:
    """Return the command that reads ``errand`` in `work` and leaves ``returned`` there.

    Files are where they are here, so that nothing in the cell changes. What the cell only reads is
    mounted so that it cannot be written. The container has no network, and what it writes belongs
    to the user.
    """
    mounts = [*mounts_of(cell), Mount(folder=str(work), is_writable=True)]
    return [
        docker,
        "run",
        "--rm",
        "--init",
        f"--name={name}",
        "--network=none",
        "--pull=never",
        f"--user={os.getuid()}:{os.getgid()}",
        f"--env=HOME={work}",
        *(["--gpus=all"] if uses_gpu(cell) else []),
        *(f"--mount={mount}" for mount in mounts),
        "--entrypoint=python3",
        image,
        "-m",
        _MODULE,
        str(work / ERRAND),
        str(work / RETURNED),
    ]


def mounts_of(cell: Cell) -> tuple[Mount, ...]:
    """Return the folders that a cell needs, each once, none inside another of the same kind."""
    job = cell.job
    read = {folder for one in _read(cell) for folder in _folders(one)}
    kept = [one for one in sorted(read) if not any(_is_inside(one, other) for other in read)]
    found = [Mount(folder=str(one)) for one in kept]
    if job.engine_cache is not None:
        found.append(Mount(folder=str(Path(job.engine_cache).resolve()), is_writable=True))
    return tuple(found)


def _read(cell: Cell) -> Iterator[str]:
    job = cell.job
    yield from filter(None, (job.subject.path, job.workload.data_set, cell.checking.reference))
    yield from cell.data_sets
    for file in job.workload.files:
        yield file.path
    yield from job.backend.options.values()


def _folders(path: str) -> Iterator[Path]:
    """Yield the folder of a path, and that to which a link leads; none where nothing is there."""
    given = Path(path)
    if not given.is_absolute() or not given.exists():
        return
    for one in (given, given.resolve()):
        yield one if one.is_dir() else one.parent


def _is_inside(one: Path, other: Path) -> bool:
    return one != other and one.is_relative_to(other)
