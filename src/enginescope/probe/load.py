"""What else kept the processors busy while something was measured."""

from __future__ import annotations

import time

import psutil


class LoadMeter:
    """Cores kept busy by other processes between `start` and `other_cores`.

    Busy time of the whole machine, less this process's own processor time, over wall time.
    Time stolen by a hypervisor is no process's: `CpuLossMeter` counts it.
    """

    def __init__(self) -> None:
        self._wall = 0.0
        self._busy = 0.0
        self._own = 0.0

    def start(self) -> None:
        """Take the first reading."""
        self._wall, self._busy, self._own = _reading()

    def other_cores(self) -> float | None:
        """Return the mean number of cores others kept busy since `start`.

        ``None`` when less than 100 ms have passed: the kernel counts in steps of 10 ms.
        """
        wall, busy, own = _reading()
        elapsed = wall - self._wall
        if elapsed < 0.1:
            return None
        return max(0.0, (busy - self._busy) - (own - self._own)) / elapsed


def _reading() -> tuple[float, float, float]:
    times = psutil.cpu_times()
    # guest time is already inside user time, so it is not added again
    counted = ("user", "nice", "system", "irq", "softirq")
    busy = sum(getattr(times, name, 0.0) for name in counted)
    own = psutil.Process().cpu_times()
    return time.perf_counter(), busy, own.user + own.system
