"""Cells in containers of this machine, one after another.

The command line that does a cell in a container.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from enginescope.core.errors import FormatError, MissingDependencyError, UnsupportedError
from enginescope.core.record import Record
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.cell_task import (
    REMOTE_CELL,
    FleetWatch,
    Lost,
    last_line,
    longest_s,
    packed_task,
    unpacked_returned,
)
from enginescope.runner.fleet.machines import uses_gpu

TASK, RETURNED = "task", "returned"


class Mount(Record, frozen=True, kw_only=True):
    """A folder of this machine that is at the same place in the container."""

    folder: str
    is_writable: bool = False

    def __str__(self) -> str:
        """Return it as ``--mount`` takes it."""
        text = f"type=bind,source={self.folder},target={self.folder}"
        return text if self.is_writable else f"{text},readonly"


def docker_command(docker: str, image: str, cell: Cell, work: Path, *, name: str) -> list[str]:
    """Return the command that reads ``task`` in `work` and leaves ``returned`` there.

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
        REMOTE_CELL,
        str(work / TASK),
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


#: How long Docker may take for an answer.
_ANSWER_S = 30.0


class DockerFleet:
    """Containers of one image.

    Args:
        image: With enginescope in it, of this version; it must be on this machine.

    Raises:
        MissingDependencyError: There is no ``docker``.
        UnsupportedError: It does not answer, or has no such image.
    """

    def __init__(self, image: str) -> None:
        found = shutil.which("docker")
        if found is None:
            raise MissingDependencyError(
                "docker is not on this machine",
                why="--in-docker needs it",
                hint="https://docs.docker.com/engine/install",
            )
        self._docker = found
        self._image = image
        _ask(
            [found, "version", "--format", "{{.Server.Version}}"],
            "docker does not respond",
            hint="check with docker version: the daemon must run, and you need access to it",
        )
        _ask(
            [found, "image", "inspect", "--format", "{{.Id}}", image],
            f"docker has no image {image}",
            hint=f"docker pull {image}, or build one: docs/how-to/containers.md",
        )

    def run(self, cells: Sequence[Cell], command: str | None, watch: FleetWatch) -> None:
        """Do every cell; see `Fleet`."""
        for cell in cells:
            watch.started(cell, f"container of {self._image}")
            self._do(cell, command, watch)

    def _do(self, cell: Cell, command: str | None, watch: FleetWatch) -> None:
        name = f"enginescope-{cell.key}-{secrets.token_hex(3)}"
        with temporary_folder() as folder:
            work = folder.resolve()
            (work / TASK).write_bytes(packed_task(cell, command, is_placed=False))
            for one in mounts_of(cell):
                if one.is_writable:
                    Path(one.folder).mkdir(parents=True, exist_ok=True)
            started = docker_command(self._docker, self._image, cell, work, name=name)
            ended = self._started(started, name, longest_s(cell))
            if ended is not None and (work / RETURNED).is_file():
                try:
                    returned = unpacked_returned((work / RETURNED).read_bytes())
                except FormatError as error:  # another version is in the image
                    watch.lost(Lost(cell=cell, reason=str(error), hint=error.hint))
                else:
                    watch.returned(cell, returned)
                return
        watch.lost(Lost(cell=cell, reason=_why(ended, longest_s(cell))))

    def _started(
        self, command: Sequence[str], name: str, limit_s: float
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Run a container to its end; ``None``: it had to be ended."""
        try:
            return subprocess.run(command, capture_output=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            self._kill(name)
            return None
        except BaseException:  # Ctrl-C: the container would go on
            self._kill(name)
            raise

    def _kill(self, name: str) -> None:
        subprocess.run(
            [self._docker, "kill", name], capture_output=True, timeout=_ANSWER_S, check=False
        )


def _ask(command: Sequence[str], what: str, *, hint: str | None = None) -> None:
    try:
        asked = subprocess.run(command, capture_output=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnsupportedError(what, why=str(error), hint=hint) from error
    if asked.returncode:
        raise UnsupportedError(what, why=last_line(asked.stderr) or None, hint=hint)


def _why(ended: subprocess.CompletedProcess[bytes] | None, limit_s: float) -> str:
    if ended is None:
        return f"its container did not end within {limit_s:,.0f} s"
    said = last_line(ended.stderr)
    by = f" by signal {ended.returncode - 128}" if ended.returncode > 128 else ""
    return f"its container ended{by} with status {ended.returncode}{f': {said}' if said else ''}"
