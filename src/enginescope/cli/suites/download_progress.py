"""Progress of downloads on standard error: a live line on a terminal, and a line for each model."""

from __future__ import annotations

from rich.live import Live
from rich.text import Text

from enginescope.cli.live import Shown, error_console, live_lines
from enginescope.cli.options import note
from enginescope.core.units import format_bytes
from enginescope.formats.onnx.link_list import Fetched
from enginescope.services.suites.models import DownloadObserver


class DownloadProgress(Shown[Live], DownloadObserver):
    """Shows how much of a file is there, between ``with`` and its end.

    Args:
        quiet: Print no line for a model that was fetched.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        super().__init__(live_lines(error_console()))

    def warn(self, text: str) -> None:
        """Print a warning."""
        note(text)

    def download_progressed(self, place: str, have: int, size: int | None) -> None:
        """Show the bytes so far."""
        if self._live:
            of_all = f" of {format_bytes(size)}" if size is not None else ""
            self._live.update(Text(f"{place}: {format_bytes(have)}{of_all}"))

    def download_ended(self, place: str, fetched: Fetched) -> None:
        """Print where a model is."""
        if self._quiet:
            return
        note(f"{place}: {'there already' if fetched.was_there else fetched.folder}")
        if fetched.link.sha256 is None:
            note(f"  the list has no SHA-256 for it; it is {fetched.sha256}")
