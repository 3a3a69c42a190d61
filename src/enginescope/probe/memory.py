"""Resident memory of this process, of a process tree, and what the machine has left."""

from __future__ import annotations

import sys
import time
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


class TreeMemory:
    """Resident memory of a process and its descendants.

    Finding descendants reads the whole process table, which costs a measurable share of a core when
    done many times a second beside a measurement; so that is done once a second, and between two
    listings only the known members are read.
    """

    LIST_AGAIN_S = 1.0

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._members = [self._root]
        self._listed = -self.LIST_AGAIN_S

    def rss_bytes(self) -> int | None:
        """Return the sum, in bytes; ``None`` once all are gone."""
        now = time.monotonic()
        if now - self._listed >= self.LIST_AGAIN_S:
            self._listed = now
            try:
                self._members = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:  # the root is gone
                return None
        total = 0
        for member in self._members:
            try:
                total += member.memory_info().rss
            except psutil.Error:  # ended since the listing
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
