"""Processes by their numbers: names, which are ours, and which of a GPU's are not.

Which processes this one was started by.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

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
