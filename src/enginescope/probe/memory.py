"""Resident memory of this process, of a process tree, and what the machine has left."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


def peak_rss_bytes() -> int | None:
    """Return this process's peak resident memory (``ru_maxrss``), in bytes."""
    try:
        import resource  # not on every platform
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024


def tree_rss_bytes(process: psutil.Process) -> int | None:
    """Return the resident memory of a process and its descendants; ``None`` once it is gone."""
    try:
        members = [process, *process.children(recursive=True)]
    except psutil.Error:
        return None
    total = 0
    for member in members:
        try:
            total += member.memory_info().rss
        except psutil.Error:  # ended between the listing and the reading
            continue
    return total or None


def available_bytes(cgroup: Path = _CGROUP) -> int:
    """Return memory a new process can take without swapping, in bytes.

    The container's limit counts where there is one.
    """
    free = int(psutil.virtual_memory().available)
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = (cgroup / "memory.current").read_text().strip()
    except OSError:  # no cgroup v2 here
        return free
    return min(free, int(limit) - int(used)) if limit.isdigit() and used.isdigit() else free


def oom_kills(cgroup: Path = _CGROUP) -> int | None:
    """Return how many processes the kernel has killed for memory in this container."""
    try:
        lines = (cgroup / "memory.events").read_text().splitlines()
    except OSError:
        return None
    counts = dict(line.split(" ", 1) for line in lines if " " in line)
    return int(counts["oom_kill"]) if counts.get("oom_kill", "").isdigit() else None
