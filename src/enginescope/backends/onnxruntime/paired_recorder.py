"""Times a request twice, in turn: with copies between host and device, and without."""

from __future__ import annotations

from array import array
from time import perf_counter_ns

import numpy as np

from enginescope.backends.loop import Step
from enginescope.records.samples import Array, Samples, frozen


class PairedRecorder:
    """One request from host memory, then the same one in device memory, each timed.

    Args:
        host, device: The two steps. In turn, so that clocks, temperature and other load are the
            same for both.
    """

    def __init__(self, host: Step, device: Step) -> None:
        self._steps = (host, device)
        self._starts = array("q")  # nanoseconds
        self._host = array("q")
        self._device = array("q")
        self.issued = 0

    def __len__(self) -> int:
        """Return the number of pairs so far."""
        return len(self._host)

    def times_ms(self, last: int | None = None) -> Array:
        """Return the times with copies, or the last so many."""
        times = np.frombuffer(self._host, dtype=np.int64)
        return (times if last is None else times[-last:]) / 1e6

    def run(self, count: int, untimed: int = 0) -> None:
        """Time `count` pairs, after `untimed` pairs."""
        host, device = self._steps
        self.issued += 2 * (untimed + count)
        starts, hosts, devices = (array("q", bytes(8 * count)) for _ in range(3))
        for _ in range(untimed):
            host()
            device()
        clock = perf_counter_ns
        for i in range(count):
            begin = clock()
            host()
            between = clock()
            device()
            end = clock()
            starts[i] = begin
            hosts[i] = between - begin
            devices[i] = end - between
        self._starts.extend(starts)
        self._host.extend(hosts)
        self._device.extend(devices)

    def samples(self) -> tuple[Samples, ...]:
        """Return metric ``latency``, with copies, and ``device_latency``, without."""
        starts = np.frombuffer(self._starts, dtype=np.int64)
        begun = frozen((starts - starts[0]) / 1e6 if starts.size else starts)
        device = np.frombuffer(self._device, dtype=np.int64) / 1e6
        return (
            Samples(metric="latency", values_ms=frozen(self.times_ms()), start_ms=begun),
            Samples(metric="device_latency", values_ms=frozen(device), start_ms=begun),
        )
