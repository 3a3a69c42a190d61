"""Progress of a download: a live line on a terminal, nothing elsewhere; on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from enginescope.core.units import format_bytes


class DownloadProgress:
    """Shows how much of a file is there, between ``with`` and its end."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        is_terminal = sys.stderr is not None and sys.stderr.isatty() and console.is_terminal
        self._live: Live | None = None
        if is_terminal and not console.is_dumb_terminal:
            self._live = Live(console=console, transient=True, refresh_per_second=4)

    def __enter__(self) -> DownloadProgress:
        """Start the live line."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the live line away."""
        if self._live:
            self._live.stop()

    def of(self, what: str) -> Callable[[int, int | None], None]:
        """Return what a download tells of its progress."""

        def told(have: int, whole: int | None) -> None:
            if self._live:
                of_all = f" of {format_bytes(whole)}" if whole is not None else ""
                self._live.update(Text(f"{what}: {format_bytes(have)}{of_all}"))

        return told
