"""A container of this machine that runs a module on the file of a task."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from enginescope._version import __version__
from enginescope.core.errors import (
    BackendError,
    FormatError,
    MissingDependencyError,
    UnsupportedError,
    UsageError,
)
from enginescope.core.record import Record
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Job
from enginescope.records.suite.suite import Cell
from enginescope.runner.fleet.environment import FINGERPRINT, Reply, checked_conditions
from enginescope.runner.fleet.machines import (
    REMOTE_CELL,
    FleetWatch,
    Lost,
    longest_s,
    packed_task,
    unpacked_returned,
    uses_gpu,
)

#: How long Docker may take for an answer, and how long a container to say what is in it.
_ANSWER_S, _CONDITIONS_S = 30.0, 120.0
#: Where the driver of a GPU is, on Linux and under Windows.
_GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
#: Exit status of ``docker run`` if it cannot start the container.
_NOT_STARTED = 125
_INSTALL = {
    "docker": "https://docs.docker.com/engine/install",
    "podman": "https://podman.io/docs/installation",
}
_IMAGES = "docs/how-to/containers.md"
_TASK, _RETURNED = "task", "returned"


class Mount(Record, frozen=True, kw_only=True):
    """A folder of this machine that is at the same place in the container."""

    folder: str
    is_writable: bool = False

    def __str__(self) -> str:
        text = f"type=bind,source={self.folder},target={self.folder}"
        return text if self.is_writable else f"{text},readonly"


class ContainerTask(Record, frozen=True, kw_only=True):
    """A module to run in a container.

    Attributes:
        work: Writable folder; home of the user in the container.
        is_attended: The module exits when its standard input ends, and so with this process.
    """

    module: str
    arguments: tuple[str, ...]
    work: Path
    mounts: tuple[Mount, ...] = ()
    uses_gpu: bool = False
    is_attended: bool = False


def mounts_of_job(job: Job, read: Iterable[str] = ()) -> tuple[Mount, ...]:
    """Return the folders that a job needs, each once, none inside another of the same kind.

    Args:
        read: Further files and folders.
    """
    answering, workload = job.answering, job.workload
    named = [job.subject.path, job.engine, workload.data_set, *job.backend.options.values()]
    named += (*(file.path for file in workload.files), *read)
    for sample in answering.samples if answering else ():
        named += (sample.data_set, *(file.path for file in (*sample.files, *sample.images)))
    folders = {
        place if place.is_dir() else place.parent
        for path in map(Path, filter(None, named))
        if path.is_absolute() and path.exists()
        for place in (path, path.resolve())  # a link, and that to which it leads
    }
    outputs = (answering.folder, answering.inputs_folder) if answering else ()
    writable = {Path(path).absolute() for path in filter(None, (job.engine_cache, *outputs))}
    readable = {
        folder
        for folder in folders - writable
        if not any(other in folder.parents for other in folders | writable)
    }
    return (
        *(Mount(folder=str(folder)) for folder in sorted(readable)),
        *(Mount(folder=str(folder), is_writable=True) for folder in sorted(writable)),
    )


def container_command(path: str, image: str, task: ContainerTask, name: str) -> list[str]:
    """Return the command line that runs a task in a container.

    Files are where they are here, so that nothing in the task changes. The container has no
    network, and its files belong to the user.

    Args:
        path: Of docker or podman.
    """
    is_podman = Path(path).name == "podman"
    gpu = "--device=nvidia.com/gpu=all" if is_podman else "--gpus=all"
    keeps_user = ["--userns=keep-id"] if is_podman and os.getuid() else []
    mounts = (*task.mounts, Mount(folder=str(task.work), is_writable=True))
    return [
        *(path, "run", "--rm", "--init", f"--name={name}"),
        *(["--interactive"] if task.is_attended else []),
        *("--network=none", "--pull=never"),
        *(*keeps_user, f"--user={os.getuid()}:{os.getgid()}"),
        *(["--security-opt=label=disable"] if is_podman else []),  # SELinux would hide the mounts
        f"--env=HOME={task.work}",
        *([gpu] if task.uses_gpu else []),
        *(f"--mount={mount}" for mount in mounts),
        *("--entrypoint=python3", image, "-m", task.module, *task.arguments),
    ]


class Container:
    """An image of this machine with enginescope in it, of this version.

    Args:
        image: Its name.
        tool: ``docker`` or ``podman``.
        needed_by: What the user asked for, named in the error without the tool.
    """

    def __init__(self, image: str, tool: str = "docker", *, needed_by: str) -> None:
        path = shutil.which(tool)
        if path is None:
            why = f"{needed_by} needs it"
            hint = _INSTALL[tool]
            raise MissingDependencyError(f"{tool} is not on this machine", why=why, hint=hint)
        self._tool, self._path, self._image = tool, path, image
        needs = " the daemon must run, and you need access to it" if tool == "docker" else ""
        self._ask(
            ["version"],
            f"{tool} does not respond",
            hint=f"check with {tool} version{':' if needs else ''}{needs}",
        )
        self._ask(
            ["image", "inspect", "--format", "{{.Id}}", image],
            f"{tool} has no image {image}",
            hint=f"{tool} pull {image}, or build one: {_IMAGES}",
        )

    def conditions(self) -> dict[str, str]:
        """Return versions and hardware as the container sees them: `environment_fingerprint`."""
        where = f"{self._tool}:{self._image}"
        install = f"an image with enginescope {__version__}: {_IMAGES}"
        with temporary_folder() as folder:
            work = folder.resolve()
            uses_gpu = has_gpu()
            task = ContainerTask(module=FINGERPRINT, arguments=("0",), work=work, uses_gpu=uses_gpu)
            status = self.run(task, "versions", _CONDITIONS_S)
            if status is None:
                raise UsageError(where, why=f"did not respond within {_CONDITIONS_S:.0f} s")
            if status == _NOT_STARTED:
                toolkit = "install the NVIDIA Container Toolkit" if uses_gpu else ""
                hint = toolkit or f"check with {self._tool} run --rm {self._image}"
                why = f"cannot be started: {_said(work) or f'status {status}'}"
                raise UsageError(where, why=why, hint=hint)
            reply = Reply(status, (work / "out").read_bytes(), (work / "log").read_bytes())
            return checked_conditions(reply, where, install=install, hint=install)

    def exchange(
        self,
        module: str,
        data: bytes,
        limit_s: float,
        mounts: Sequence[Mount],
        *,
        label: str,
        uses_gpu: bool,
    ) -> bytes:
        """Run a module there on the file of a task; return the bytes of its result.

        Args:
            label: Part of the container's name.
        """
        with temporary_folder() as folder:
            work = folder.resolve()
            (work / _TASK).write_bytes(data)
            task = ContainerTask(
                module=module,
                arguments=(str(work / _TASK), str(work / _RETURNED), "attended"),
                work=work,
                mounts=tuple(mounts),
                uses_gpu=uses_gpu,
                is_attended=True,
            )
            status = self.run(task, label, limit_s)
            try:
                return (work / _RETURNED).read_bytes()
            except FileNotFoundError:
                if status is None:
                    why = f"its container did not end within {limit_s:,.0f} s"
                    raise BackendError(why) from None
                by, said = f" by signal {status - 128}" if status > 128 else "", _said(work)
                why = f"its container ended{by} with status {status}{f': {said}' if said else ''}"
                raise BackendError(why) from None

    def run(self, task: ContainerTask, label: str, limit_s: float) -> int | None:
        """Run a container to its end; return its status, ``None``: it had to be ended.

        What it prints is in the files ``out`` and ``log`` of ``task.work``.
        """
        for mount in task.mounts:
            if mount.is_writable:
                Path(mount.folder).mkdir(parents=True, exist_ok=True)
        name = f"enginescope-{label}-{secrets.token_hex(3)}"
        command = container_command(self._path, self._image, task, name)
        stdin = subprocess.PIPE if task.is_attended else subprocess.DEVNULL
        with (task.work / "out").open("wb") as out, (task.work / "log").open("wb") as log:
            process = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=log)
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self._kill(name)
                return None
            except BaseException:  # Ctrl-C: the container would go on
                self._kill(name)
                raise
            finally:
                if process.stdin is not None:
                    process.stdin.close()
                process.kill()
                process.wait()

    def _kill(self, name: str) -> None:
        subprocess.run(
            [self._path, "kill", name], capture_output=True, timeout=_ANSWER_S, check=False
        )

    def _ask(self, arguments: Sequence[str], what: str, *, hint: str) -> None:
        try:
            ended = subprocess.run(
                [self._path, *arguments], capture_output=True, timeout=_ANSWER_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnsupportedError(what, why=str(error), hint=hint) from error
        if ended.returncode:
            raise UnsupportedError(what, why=_last_line(ended.stderr) or None, hint=hint)


def has_gpu() -> bool:
    """Whether this machine has a GPU that containers may be given."""
    return any(path.exists() for path in _GPU_FILES)


def _said(work: Path) -> str:
    return _last_line((work / "log").read_bytes())


def _last_line(data: bytes) -> str:
    """Return the last line that is neither blank nor Docker's advice to read its help."""
    lines = [line.strip() for line in data.decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line and "run --help" not in line), "")


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
