"""Something done again and again in a thread of its own, while the caller does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable


class PeriodicThread:
    """Calls a function every so often, from `start` until `stop`.

    Args:
        interval_s: From the end of a call to the next.
        waits_first: Whether the first call comes an interval after the start; else it comes at
            once.
    """

    def __init__(
        self, do: Callable[[], None], interval_s: float, *, waits_first: bool = False
    ) -> None:
        self._do = do
        self._interval_s = interval_s
        self._waits_first = waits_first
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; the thread does not keep the process from ending."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, once the call that is under way has; nothing where it was not started."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if self._waits_first and self._over.wait(self._interval_s):
            return
        while not self._over.is_set():
            self._do()
            self._over.wait(self._interval_s)
