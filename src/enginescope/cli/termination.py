"""Being told to end, by Ctrl-C or by another signal.

Exit codes that several verbs share.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

EXIT_INTERRUPTED = 130
#: Sent by ``timeout``, by CI and by service managers; and by a terminal that is closed.
_SIGNALS = ("SIGTERM", "SIGHUP")


@contextmanager
def ending_in_order() -> Iterator[None]:
    """In this block, end by `SystemExit` with 128 + the signal's number, not on the spot.

    So that children are ended and temporary files removed. A signal that is ignored, as ``nohup``
    has it, stays so.
    """
    taken = {}
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # not all on every platform
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            taken[number] = signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


@contextmanager
def saying_what_stands(what: Callable[[], str]) -> Iterator[None]:
    """In this block, being told to end is said once, with what is kept, and ends the program."""
    from enginescope.cli.messages import warn

    try:
        yield
    except KeyboardInterrupt as error:
        warn(f"enginescope: interrupted; {what()}")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from error
    except SystemExit:
        warn(f"enginescope: interrupted; {what()}")
        raise


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


#: A run or a build failed, or a run is not stored.
EXIT_RUN_FAILED = 3
