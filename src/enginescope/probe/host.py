"""The machine: processors, memory, governor, container, and what others took of them.

Also memory of this process and of a process tree.
"""

import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_ranges
from enginescope.records.environment import Host
from enginescope.records.run.telemetry import CpuLoss

_CGROUP = Path("/sys/fs/cgroup")
_CPUS = Path("/sys/devices/system/cpu")


def probe_host() -> Host:
    """Return what can be known of this machine; what cannot is ``None``."""
    return Host(
        name=platform.node() or None,
        os=platform.platform(),
        cpu_model=cpu_model(),
        cores_physical=psutil.cpu_count(logical=False),
        cores_logical=psutil.cpu_count(logical=True),
        cores_usable=usable_cores(),
        memory_bytes=usable_memory_bytes(),
        governor=_read(_CPUS / "cpu0/cpufreq/scaling_governor"),
        container=container_kind(),
        load_1min=_load_average(),
        boost=boost_enabled(),
        smt=smt_active(),
    )


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the processor's marketing name."""
    for line in (_read(cpuinfo) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware") and value.strip():
            return value.strip()
    return platform.processor() or None


def usable_cores(cgroup: Path = _CGROUP) -> int | None:
    """Return the cores this process may use, after affinity and the container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count()
    quota, _, period = (_read(cgroup / "cpu.max") or "").partition(" ")
    if quota.isdigit() and period.isdigit() and cores is not None:
        return max(1, min(cores, int(quota) // int(period)))
    return cores


def usable_memory_bytes(cgroup: Path = _CGROUP) -> int:
    """Return the machine's memory, or the container's limit if that is less, in bytes."""
    total = int(psutil.virtual_memory().total)
    limit = _read(cgroup / "memory.max") or ""
    return min(total, int(limit)) if limit.isdigit() else total


def boost_enabled(cpus: Path = _CPUS) -> bool | None:
    """Whether the processor may raise its clock over the nominal one; ``None``: not visible."""
    off = _read(cpus / "intel_pstate/no_turbo")
    if off in ("0", "1"):
        return off == "0"
    on = _read(cpus / "cpufreq/boost")
    return on == "1" if on in ("0", "1") else None


def smt_active(cpus: Path = _CPUS) -> bool | None:
    """Whether physical cores run two threads at a time; ``None``: not visible."""
    active = _read(cpus / "smt/active")
    return active == "1" if active in ("0", "1") else None


def container_kind(root: Path = Path("/")) -> str | None:
    """Return ``docker``, ``podman``, ``kubernetes`` or another runtime's name, or ``None``."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    named = _read(root / "run/systemd/container") or os.environ.get("container")  # noqa: SIM112 (systemd)
    return named or None


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:  # the platform does not keep one
        return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:  # absent on this platform, or not ours to read
        return None


#: The kernel counts in steps of 10 ms; a mean over less than this is mostly its step.
_LEAST_S = 0.1


class LoadMeter:
    """Cores kept busy by other processes since it was made.

    Busy time of the whole machine, less this process's own processor time, over wall time.
    Time stolen by a hypervisor is not a process's: `CpuLossMeter` counts it.
    """

    def __init__(self) -> None:
        self._start = _reading()

    def own_cores(self) -> float | None:
        """Return the mean cores that this process kept busy; ``None``: < 100 ms."""
        elapsed, _, own = self._since_start()
        return own / elapsed if elapsed >= _LEAST_S else None

    def other_cores(self) -> float | None:
        """Return the mean cores that others kept busy; ``None``: < 100 ms."""
        elapsed, busy, own = self._since_start()
        return max(0.0, busy - own) / elapsed if elapsed >= _LEAST_S else None

    def _since_start(self) -> tuple[float, ...]:
        return tuple(now - then for now, then in zip(_reading(), self._start, strict=True))


def _reading() -> tuple[float, float, float]:
    own = psutil.Process().cpu_times()
    return time.perf_counter(), _stolen_and_busy_s()[1], own.user + own.system


_STATUS = Path("/proc/self/status")
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
    limit, used = (_read(cgroup / f"memory.{name}") or "" for name in ("max", "current"))
    if not (limit.isdigit() and used.isdigit()):  # no cgroup v2 here
        return free
    stat = _counts(cgroup / "memory.stat", " ")
    cached = sum(int(stat[key]) for key in _RECLAIMABLE if stat.get(key, "").isdigit())
    return max(0, min(free, int(limit) - int(used) + cached))


def oom_kills(cgroup: Path = _CGROUP, vmstat: Path = Path("/proc/vmstat")) -> int | None:
    """Return how many processes the kernel killed for memory: in this container, else at all."""
    for path in (cgroup / "memory.events", vmstat):
        found = _counts(path, " ").get("oom_kill", "")
        if found.isdigit():
            return int(found)
    return None


def _counts(path: Path, separator: str) -> dict[str, str]:
    """Return the lines of a kernel's table by their first word; empty where there is none."""
    parts = (line.partition(separator) for line in (_read(path) or "").splitlines())
    return {key: value.strip() for key, _, value in parts}


_OWN_GROUPS = Path("/proc/self/cgroup")
#: Guest time is inside user time already.
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
        self._times = _stolen_and_busy_s()
        self._quotas = tuple(map(read_quota, self._files))

    def loss(self) -> CpuLoss:
        """Return what was lost since the meter was made."""
        now = _stolen_and_busy_s()
        stolen, busy = now[0] - self._times[0], now[1] - self._times[1]
        demand = stolen + busy
        # throttled at any level is throttled: the level that was so most counts
        quotas = zip(self._quotas, map(read_quota, self._files), strict=True)
        spent = [
            CpuQuota._make(b - a for a, b in zip(before, after, strict=True))
            for before, after in quotas
            if before and after
        ]
        worst = max(spent, key=lambda one: one.throttled_ms, default=None)
        return CpuLoss(
            steal_pct=100 * max(0.0, stolen) / demand if demand >= _LEAST_DEMAND_S else None,
            **(worst._asdict() if worst else {}),
        )


def quota_files(cgroup: Path = _CGROUP, own_groups: Path = _OWN_GROUPS) -> tuple[Path, ...]:
    """Return the counters of this process's control group and of all above it."""
    found: list[Path] = []
    for line in (_read(own_groups) or "").splitlines():
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


def _stolen_and_busy_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    return getattr(times, "steal", 0.0), sum(getattr(times, name, 0.0) for name in _BUSY)


def usable_processors() -> tuple[int, ...] | None:
    """Return the logical processors that this process may use; ``None`` if the system hides it."""
    affinity = getattr(os, "sched_getaffinity", None)
    return tuple(sorted(affinity(0))) if affinity else None


def check_pinning(cores: Iterable[int]) -> None:
    """Raise a `UsageError` that names the usable ones if not all of `cores` can be used."""
    usable = usable_processors()
    if usable is None:
        raise UsageError("`pinned_cores`", why="this system pins no process to processors")
    missing = sorted(set(cores) - set(usable))
    if missing:
        noun = "core" if len(missing) == 1 else "cores"
        what = f"`pinned_cores`: no {noun} {ranges_text(missing)} to use here"
        why = "the machine has fewer, or this process is not allowed on all of them"
        raise UsageError(what, why=why, hint=f"usable: {ranges_text(usable)}")


@contextmanager
def children_pinned_to(cores: tuple[int, ...]) -> Iterator[None]:
    """In this block, processes that this thread starts run on `cores` alone; empty: as before.

    A child has the affinity of the thread that starts it from its first instruction on, so that
    libraries which count processors while they are imported count these.
    """
    if not cores:
        yield
        return
    check_pinning(cores)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def siblings(processor: int, cpus: Path = _CPUS) -> tuple[int, ...]:
    """Return the logical processors of the physical core that `processor` is on, itself included.

    Empty where the system does not say.
    """
    try:
        text = (cpus / f"cpu{processor}/topology/thread_siblings_list").read_text()
        return parse_ranges(text.strip())
    except (OSError, ValueError):
        return ()


def shared_cores(cores: Iterable[int], cpus: Path = _CPUS) -> tuple[tuple[int, ...], ...]:
    """Return the groups among `cores` that are threads of one physical core."""
    chosen = set(cores)
    groups = {tuple(sorted(chosen.intersection(siblings(one, cpus)))) for one in chosen}
    return tuple(sorted(group for group in groups if len(group) > 1))


def ranges_text(numbers: Iterable[int]) -> str:
    """Return numbers as ``0, 2…4``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        ", ".join(map(str, run)) if len(run) < 3 else f"{run[0]}…{run[-1]}" for run in runs
    )
