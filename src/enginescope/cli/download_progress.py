"""Progress of a download: a live line on a terminal, nothing elsewhere; on standard error."""

from __future__ import annotations

from collections.abc import Callable

from rich.live import Live
from rich.text import Text

from enginescope.cli.live import Shown, error_console, live_lines
from enginescope.core.units import format_bytes


class DownloadProgress(Shown[Live]):
    """Shows how much of a file is there, between ``with`` and its end."""

    def __init__(self) -> None:
        super().__init__(live_lines(error_console()))

    def of(self, what: str) -> Callable[[int, int | None], None]:
        """Return what a download tells of its progress."""

        def told(have: int, whole: int | None) -> None:
            if self._live:
                of_all = f" of {format_bytes(whole)}" if whole is not None else ""
                self._live.update(Text(f"{what}: {format_bytes(have)}{of_all}"))

        return told
