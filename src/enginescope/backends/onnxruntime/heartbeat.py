"""A sign of life while a provider builds engines, which may take minutes without a word."""

from __future__ import annotations

import threading
from time import monotonic
from types import TracebackType

from enginescope.backends.base import Progress, ProgressSink

_INTERVAL_S = 1.0


class Heartbeat:
    """Reports a phase and how long it has taken, once a second, between ``with`` and its end.

    Parameters
    ----------
    progress : callable
    phase, doing : str
    """

    def __init__(self, progress: ProgressSink, phase: str, doing: str) -> None:
        self._progress = progress
        self._phase = phase
        self._doing = doing
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        """Report at once, then every second."""
        self._begun = monotonic()
        self._progress(Progress(phase=self._phase, detail=self._doing))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(_INTERVAL_S):
            seconds = monotonic() - self._begun
            self._progress(
                Progress(phase=self._phase, detail=f"{self._doing}, {seconds:.0f} s so far")
            )
