"""What verbs that read plans and stored runs print on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

from enginescope.cli.options import note
from enginescope.records.notice import Notice
from enginescope.services.observer import PlanObserver
from enginescope.services.store.push import PushObserver


class TerminalObserver(PlanObserver, PushObserver):
    """Prints warnings and slow steps on standard error, and progress on a terminal."""

    def warn(self, text: str) -> None:
        """Print a warning."""
        note(text)

    progress = warn

    def sent(self, number: int, total: int) -> None:
        """Count the runs on one line."""
        if sys.stderr.isatty():
            end = "\n" if number == total else ""
            print(f"\r{number} of {total} runs", end=end, file=sys.stderr, flush=True)


class NotingObserver(PlanObserver):
    """Notes every report on standard error."""

    def warn(self, text: str) -> None:
        """Note a warning."""
        note(text)

    def notice(self, notice: Notice) -> None:
        """Note a notice of any level."""
        note(f"{notice.message} ({notice.code})")

    def progress(self, text: str) -> None:
        """Note what takes seconds."""
        note(text)

    def file_written(self, path: Path) -> None:
        """Note a file that was asked for."""
        note(f"written: {path}")
