"""A trace of CUDA's calls and of the work they gave the GPU, from CUPTI.

CUPTI is NVIDIA's library for profilers; NVIDIA's package cupti-python binds it. It stamps calls of
the host and work of the GPU on one clock.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from enginescope.core.errors import MissingDependencyError
from enginescope.core.optional import require
from enginescope.formats.onnxruntime.ort_profile import GpuCall, GpuTrace

_BUFFER_BYTES = 8 << 20
#: Hand out buffers that are not full too.
_FORCED = 1
_WORK = ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET")
_CALLS = ("RUNTIME", "DRIVER")


class KernelTrace:
    """Records this process from entering to leaving; never fails, but then says why it has none."""

    def __init__(self) -> None:
        self._why: str | None = None
        self._called_ns: dict[int, int] = {}
        self._work_ns: list[tuple[int, int]] = []
        self._cupti: Any = None

    def __enter__(self) -> KernelTrace:
        try:
            install = "enginescope[cupti]"
            cupti = require("cupti.cupti", purpose="GPU times of nodes", install=install)
            self._calls = {int(cupti.ActivityKind[name]) for name in _CALLS}
            cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), self._keep)
            for name in (*_WORK, *_CALLS):
                cupti.activity_enable(cupti.ActivityKind[name])
            self._cupti = cupti
        except MissingDependencyError as error:
            self._why = "; ".join(filter(None, (str(error), error.hint)))
        except Exception as error:  # noqa: BLE001 - CUPTI's own, or its library does not load
            self._why = f"CUPTI does not start: {type(error).__name__}: {error}"
        return self

    def __exit__(self, *_error: object) -> None:
        if self._cupti is None:
            return
        try:
            self._cupti.activity_flush_all(_FORCED)
            dropped = ctypes.c_size_t()
            self._cupti.activity_get_num_dropped_records(0, 0, ctypes.addressof(dropped))
            if dropped.value:
                self._why = f"CUPTI dropped {dropped.value} records"
            for name in (*_WORK, *_CALLS):
                self._cupti.activity_disable(self._cupti.ActivityKind[name])
        except Exception as failure:  # noqa: BLE001 - CUPTI's own
            self._why = f"CUPTI failed: {type(failure).__name__}: {failure}"

    def _keep(self, records: list[Any]) -> None:
        """Keep the records of a buffer; CUPTI calls this from a thread of its own."""
        for record in records:
            if record.kind in self._calls:
                self._called_ns[record.correlation_id] = record.start
            else:
                self._work_ns.append((record.correlation_id, record.end - record.start))

    def result(self, since_ns: int) -> GpuTrace:
        """Return what was traced.

        Args:
            since_ns: When the profile began, on the clock of `time.time_ns`.
        """
        if self._why is not None:
            return GpuTrace(why=self._why)
        base_ns = since_ns - self._offset_ns()
        calls = (
            GpuCall(called_us=(self._called_ns[key] - base_ns) / 1e3, gpu_us=gpu_ns / 1e3)
            for key, gpu_ns in self._work_ns
            if key in self._called_ns
        )
        return GpuTrace(calls=tuple(calls))

    def _offset_ns(self) -> int:
        """How far `time.time_ns` is ahead of CUPTI's clock: the closest of several readings."""
        readings = []
        for _ in range(16):
            before = time.time_ns()
            stamp = int(self._cupti.get_timestamp())
            after = time.time_ns()
            readings.append((after - before, (before + after) // 2 - stamp))
        return min(readings)[1]
