"""Device memory of this process, by NVML."""

from __future__ import annotations

import os

from enginescope.model.build import DeviceMemory
from enginescope.probe.nvml import PeakDeviceMemory, probe_device, process_memory_bytes

_INTERVAL_S = 0.02


class DeviceMemoryWatch:
    """Samples until it is told to stop: before the timed loop, which it would disturb.

    Parameters
    ----------
    index : int
        The GPU's number in CUDA's count.
    """

    def __init__(self, index: int) -> None:
        self._index = index
        self._peak = PeakDeviceMemory(index, _INTERVAL_S)
        self._peak.__enter__()
        self._is_sampling = True

    def stop(self) -> None:
        """End the sampling; once is enough."""
        if self._is_sampling:
            self._is_sampling = False
            self._peak.__exit__(None, None, None)

    def read(self) -> DeviceMemory | None:
        """Return what the process holds now and held at its peak; ``None`` if neither is known."""
        self.stop()
        device = probe_device(self._index)
        now = process_memory_bytes(device.uuid if device else None, os.getpid())
        marks = [one for one in (now, self._peak.bytes) if one is not None]
        if not marks:
            return None
        return DeviceMemory(process_bytes=now, process_peak_bytes=max(marks))
