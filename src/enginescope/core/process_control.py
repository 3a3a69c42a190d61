"""A process beside its work: signals deferred, collection paused, a thread that repeats."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: Sent by Ctrl-C; by ``timeout``, CI and service managers; and by a terminal that is closed.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let the handler of a signal run after the block instead of inside it.

    A handler may raise anywhere: between a measurement and its place in the store, or while
    SQLAlchemy closes a connection, which it logs with a traceback. Only the first signal waits, so
    that a second one ends a block that hangs. A signal without a Python handler acts at once.
    Threads other than the main one never run handlers: there the block changes nothing.
    """
    deferral = _Deferral()
    is_inner = any(isinstance(handler, _Deferral) for handler in deferral.handlers.values())
    if is_inner or threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in deferral.handlers:
        signal.signal(number, deferral)
    try:
        yield
    finally:
        for number, handler in deferral.handlers.items():
            signal.signal(number, handler)
        if deferral.waiting is not None:
            signal.raise_signal(deferral.waiting)


def end_with_input() -> None:
    """Exit when standard input ends, which the sender of a task holds open; workers exit too."""
    while os.read(0, 4096):
        pass
    os._exit(1)


class _Deferral:
    """The handler in the block: it remembers the first signal."""

    def __init__(self) -> None:
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        self.handlers = {
            number: handler for number in numbers if callable(handler := signal.getsignal(number))
        }
        self.waiting: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.waiting is None:
            self.waiting = number
            return
        self.waiting = None
        self.handlers[number](number, frame)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cycle collector from running in the block.

    It starts on every few hundred new objects and goes through all that live: with hundreds of
    thousands of parsed values, none of them in a cycle, that is half of the time of reading them;
    and among timed iterations it makes some of them slow.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
        self._do, self._interval_s, self._waits_first = do, interval_s, waits_first
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
