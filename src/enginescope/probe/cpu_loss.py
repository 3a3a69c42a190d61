"""Processor time that the hypervisor or the container's quota withheld."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil

from enginescope.records.run.telemetry import CpuLoss

_CGROUP = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_BUSY = ("user", "nice", "system", "irq", "softirq")
#: The kernel counts stolen time in steps of 10 ms; a share of less than this is mostly its step.
_LEAST_DEMAND_S = 0.1


class CpuQuota(NamedTuple):
    """Counters of a control group's quota since it was made; v1 and v2 name them alike."""

    periods: int
    throttled_periods: int
    throttled_ms: float


class CpuLossMeter:
    """Takes readings before and after something measured; what was lost lies between them."""

    def __init__(self, cgroup: Path = _CGROUP, own_groups: Path = _OWN_GROUPS) -> None:
        self._files = quota_files(cgroup, own_groups)
        self._times = (0.0, 0.0)
        self._quotas: tuple[CpuQuota | None, ...] = ()

    def start(self) -> None:
        """Take the first reading."""
        self._times = _stolen_and_busy_s()
        self._quotas = tuple(map(read_quota, self._files))

    def loss(self) -> CpuLoss:
        """Return what was lost since `start`."""
        now = _stolen_and_busy_s()
        stolen, busy = now[0] - self._times[0], now[1] - self._times[1]
        demand = stolen + busy
        # throttled at any level is throttled: the level that was so most counts
        quotas = zip(self._quotas, map(read_quota, self._files), strict=True)
        spent = [_spent(before, after) for before, after in quotas if before and after]
        worst = max(spent, key=lambda one: one.throttled_ms, default=None)
        return CpuLoss(
            steal_pct=100 * max(0.0, stolen) / demand if demand >= _LEAST_DEMAND_S else None,
            throttled_periods=worst.throttled_periods if worst else None,
            periods=worst.periods if worst else None,
            throttled_ms=worst.throttled_ms if worst else None,
        )


def quota_files(cgroup: Path = _CGROUP, own_groups: Path = _OWN_GROUPS) -> tuple[Path, ...]:
    """Return the counters of this process's control group and of all above it."""
    try:
        lines = own_groups.read_text(encoding="utf-8").splitlines()
    except OSError:  # not on this platform
        return ()
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = cgroup / "cpu" if controllers else cgroup
        inner = Path(path.lstrip("/"))
        found += [mount / one / "cpu.stat" for one in (inner, *inner.parents)]
    return tuple(path for path in dict.fromkeys(found) if path.is_file())


def read_quota(file: Path) -> CpuQuota | None:
    """Return the counters of a group; ``None`` where no quota is kept for it."""
    try:
        pairs = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
        counts = {pair[0]: int(pair[1]) for pair in pairs}
    except (OSError, ValueError, IndexError):  # the group is gone, or not of this form
        return None
    if "nr_throttled" not in counts or "nr_periods" not in counts:
        return None
    microseconds = counts.get("throttled_usec", counts.get("throttled_time", 0) / 1e3)
    return CpuQuota(counts["nr_periods"], counts["nr_throttled"], microseconds / 1e3)


def steal_pct_since_boot() -> float | None:
    """Return the share of asked-for processor time that a hypervisor gave to other guests."""
    stolen, busy = _stolen_and_busy_s()
    return 100 * stolen / (stolen + busy) if busy else None


def _spent(before: CpuQuota, after: CpuQuota) -> CpuQuota:
    return CpuQuota(
        after.periods - before.periods,
        after.throttled_periods - before.throttled_periods,
        after.throttled_ms - before.throttled_ms,
    )


def _stolen_and_busy_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    return getattr(times, "steal", 0.0), sum(getattr(times, name, 0.0) for name in _BUSY)
