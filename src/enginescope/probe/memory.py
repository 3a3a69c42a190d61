"""Resident memory of this process, of a process tree, and what the machine has left."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")
_STATUS = Path("/proc/self/status")
_VMSTAT = Path("/proc/vmstat")
#: In ``memory.stat``: pages of files, which the kernel gives up before it kills.
_RECLAIMABLE = ("inactive_file", "active_file")


def peak_rss_bytes(status: Path = _STATUS) -> int | None:
    """Return this process's peak resident memory, in bytes: ``VmHWM``, else ``ru_maxrss``.

    On Linux ``ru_maxrss`` also holds the peak of the process that started this one, as it was at
    that moment: a worker started from a notebook with gigabytes of data would show those.
    """
    peak_kib = _counts(status, ":").get("VmHWM", "").removesuffix("kB").strip()
    if peak_kib.isdigit():
        return int(peak_kib) * 1024
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

    The container's limit counts where there is one; files it has in memory do not count as used.
    """
    free = int(psutil.virtual_memory().available)
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = (cgroup / "memory.current").read_text().strip()
    except OSError:  # no cgroup v2 here
        return free
    if not (limit.isdigit() and used.isdigit()):
        return free
    stat = _counts(cgroup / "memory.stat", " ")
    cached = sum(int(stat[key]) for key in _RECLAIMABLE if stat.get(key, "").isdigit())
    return max(0, min(free, int(limit) - int(used) + cached))


def oom_kills(cgroup: Path = _CGROUP, vmstat: Path = _VMSTAT) -> int | None:
    """Return how many processes the kernel killed for memory: in this container, else at all."""
    for path in (cgroup / "memory.events", vmstat):
        found = _counts(path, " ").get("oom_kill", "")
        if found.isdigit():
            return int(found)
    return None


def _counts(path: Path, separator: str) -> dict[str, str]:
    """Return the lines of a kernel's table by their first word; empty where there is none."""
    try:
        lines = path.read_text().splitlines()
    except OSError:  # not on this platform
        return {}
    parts = (line.partition(separator) for line in lines)
    return {key: value.strip() for key, _, value in parts}
