"""What is shown on a terminal while something runs, and taken away after it; on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Generic, TypeVar

from rich.console import Console
from rich.live import Live
from rich.progress import Progress as Bars

T = TypeVar("T", Live, Bars)
S = TypeVar("S", bound="Shown")  # type: ignore[type-arg]


def error_console() -> Console:
    """Return a console on standard error."""
    return Console(stderr=True, highlight=False)


def can_take_back(console: Console) -> bool:
    """Whether a line can be taken back: on a terminal, and not on a dumb one."""
    # rich also takes FORCE_COLOR, which CI sets, for a terminal
    is_terminal = sys.stderr is not None and sys.stderr.isatty() and console.is_terminal
    return is_terminal and not console.is_dumb_terminal


def live_lines(console: Console, *, per_second: float = 4) -> Live | None:
    """Return lines that can be shown and taken away; ``None`` where they could not be."""
    if not can_take_back(console):
        return None
    return Live(console=console, transient=True, refresh_per_second=per_second)


class Shown(Generic[T]):
    """Live lines or bars, or nothing, between ``with`` and its end."""

    def __init__(self, live: T | None) -> None:
        self._live: T | None = live

    def __enter__(self: S) -> S:
        """Show them."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take them away."""
        if self._live:
            self._live.stop()
