"""The machine: processor, memory, governor, container.

What else kept the processors busy while something was measured.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import psutil

from enginescope.records.environment import Host

_CPUINFO = Path("/proc/cpuinfo")
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
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
        governor=_read(_GOVERNOR),
        container=container_kind(),
        load_1min=_load_average(),
        boost=boost_enabled(),
        smt=smt_active(),
    )


def cpu_model(cpuinfo: Path = _CPUINFO) -> str | None:
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
    """Cores kept busy by other processes between `start` and `other_cores`.

    Busy time of the whole machine, less this process's own processor time, over wall time.
    Time stolen by a hypervisor is not a process's: `CpuLossMeter` counts it.
    """

    def __init__(self) -> None:
        self._wall = 0.0
        self._busy = 0.0
        self._own = 0.0

    def start(self) -> None:
        """Take the first reading."""
        self._wall, self._busy, self._own = _reading()

    def own_cores(self) -> float | None:
        """Return the mean number of cores that this process kept busy since `start`.

        ``None`` when less than 100 ms have passed.
        """
        wall, _, own = _reading()
        elapsed = wall - self._wall
        return (own - self._own) / elapsed if elapsed >= _LEAST_S else None

    def other_cores(self) -> float | None:
        """Return the mean number of cores others kept busy since `start`.

        ``None`` when less than 100 ms have passed.
        """
        wall, busy, own = _reading()
        elapsed = wall - self._wall
        if elapsed < _LEAST_S:
            return None
        return max(0.0, (busy - self._busy) - (own - self._own)) / elapsed


def _reading() -> tuple[float, float, float]:
    times = psutil.cpu_times()
    # guest time is already inside user time, so it is not added again
    counted = ("user", "nice", "system", "irq", "softirq")
    busy = sum(getattr(times, name, 0.0) for name in counted)
    own = psutil.Process().cpu_times()
    return time.perf_counter(), busy, own.user + own.system
