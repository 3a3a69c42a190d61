"""A build's progress, where TensorRT reports it (10 and later)."""

from __future__ import annotations

import time
from typing import Any

from enginescope.backends.base import ProgressSink
from enginescope.records.progress import Progress

#: Between two reports; TensorRT reports every step.
_INTERVAL_S = 0.2


def make_monitor(trt: Any, sink: ProgressSink) -> Any | None:
    """Return a ``trt.IProgressMonitor`` that tells `sink`; ``None`` before TensorRT 10."""
    base: Any = getattr(trt, "IProgressMonitor", None)
    if base is None:
        return None

    class Monitor(base):  # type: ignore[misc]  # the class is found at run time
        def __init__(self) -> None:
            base.__init__(self)
            self._phases: dict[str, tuple[int, int]] = {}  # name -> (done, steps)
            self._outermost = ""
            self._begin = self._last = time.monotonic()

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            if parent_phase is None:
                self._outermost = phase_name
            self._phases[phase_name] = (0, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            steps = self._phases.get(phase_name, (0, 0))[1]
            self._phases[phase_name] = (step + 1, steps)
            now = time.monotonic()
            if now - self._last >= _INTERVAL_S:
                self._last = now
                sink(self._state(phase_name, now))
            return True

        def phase_finish(self, phase_name: str) -> None:
            self._phases.pop(phase_name, None)

        def _state(self, phase_name: str, now: float) -> Progress:
            done, steps = self._phases.get(self._outermost, (0, 0))
            return Progress(
                phase="build",
                elapsed_ms=(now - self._begin) * 1e3,
                detail=phase_name,
                fraction=done / steps if steps else None,
            )

    return Monitor()
