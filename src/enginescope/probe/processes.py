"""Processes by their numbers: names, which are ours, who started us; NVIDIA's MPS daemon."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import psutil

from enginescope.records.run.telemetry import GpuProcess


def process_name(pid: int) -> str | None:
    """Return the name of a process; ``None`` where it is not to be seen from here."""
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        return None


def own_pids() -> frozenset[int]:
    """Return this process and all that it has started."""
    try:
        children = psutil.Process().children(recursive=True)
    except psutil.Error:  # one of them ended meanwhile
        children = []
    return frozenset((os.getpid(), *(child.pid for child in children)))


def others_among(listed: Sequence[GpuProcess], before: Collection[int]) -> tuple[GpuProcess, ...]:
    """Return those of a GPU's processes that are not ours.

    In a container NVML may count processes as the host does. Then ours is not among them by its
    number, and only those that were there before it are surely others.

    Args:
        before: Numbers of those that were there before ours was started.
    """
    own = own_pids()
    is_seen = any(one.pid in own for one in listed)
    foreign = (one for one in listed if one.pid not in own)
    return tuple(one for one in foreign if is_seen or one.pid in before)


def ancestors() -> frozenset[int]:
    """Return the process ids of this process's parent and of all above it."""
    try:
        return frozenset(parent.pid for parent in psutil.Process().parents())
    except psutil.Error:  # one of them ended meanwhile
        return frozenset()


#: Name of the process that computes for all clients of a GPU.
SERVER_NAME = "nvidia-cuda-mps-server"
_USUAL_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA looks


def mps_daemon_runs() -> bool:
    """Whether the daemon runs that processes of this one's environment would connect to."""
    folder = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", _USUAL_FOLDER))
    try:
        pid = int((folder / "nvidia-cuda-mps-control.pid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return bool(psutil.pid_exists(pid))
