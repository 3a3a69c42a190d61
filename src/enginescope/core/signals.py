"""Signals that ask the program to end, deferred while something must not be cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Sent by Ctrl-C; by ``timeout``, CI and service managers; and by a terminal that is closed.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
#: Whether a block of the main thread defers signals: a block inside it adds nothing.
_is_deferring = False


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let the handler of a signal run after the block instead of inside it.

    A handler may raise anywhere: between a measurement and its place in the store, or while
    SQLAlchemy closes a connection, which it logs with a traceback. Only the first signal waits, so
    that a second one ends a block that hangs. A signal without a Python handler acts at once.
    Threads other than the main one never run handlers: there the block changes nothing.
    """
    global _is_deferring
    if _is_deferring or threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    handlers = {
        number: handler for number in numbers if callable(handler := signal.getsignal(number))
    }
    waiting: list[int] = []

    def defer(number: int, frame: FrameType | None) -> None:
        if not waiting:
            waiting.append(number)
            return
        waiting.clear()
        handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, defer)
    _is_deferring = True
    try:
        yield
    finally:
        _is_deferring = False
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])
