"""A sign of life while a provider builds engines, which may take minutes without a word."""

from __future__ import annotations

from time import monotonic
from types import TracebackType

from enginescope.backends.base import ProgressSink
from enginescope.core.periodic_thread import PeriodicThread
from enginescope.records.progress import Progress

_INTERVAL_S = 1.0


class ProgressTicker:
    """Reports a phase and how long it has taken, once a second, between ``with`` and its end."""

    def __init__(self, progress: ProgressSink, phase: str, doing: str) -> None:
        self._progress = progress
        self._phase = phase
        self._doing = doing
        self._beats = PeriodicThread(self._beat, _INTERVAL_S, waits_first=True)

    def __enter__(self) -> ProgressTicker:
        """Report at once, then every second."""
        self._begun = monotonic()
        self._progress(Progress(phase=self._phase, detail=self._doing))
        self._beats.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self._beats.stop()

    def _beat(self) -> None:
        seconds = monotonic() - self._begun
        self._progress(Progress(phase=self._phase, detail=f"{self._doing}, {seconds:.0f} s so far"))
