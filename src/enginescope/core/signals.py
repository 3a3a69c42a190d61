"""What asks the program to end, and signals deferred while something must not be cut in two."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
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
    if deferral.is_inner or threading.current_thread() is not threading.main_thread():
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

    @property
    def is_inner(self) -> bool:
        """Whether a block around this one defers signals already."""
        return any(isinstance(handler, _Deferral) for handler in self.handlers.values())

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.waiting is None:
            self.waiting = number
            return
        self.waiting = None
        self.handlers[number](number, frame)
