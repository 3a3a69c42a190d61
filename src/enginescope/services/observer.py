"""What a service reports while it works, and how a caller cancels it."""

from __future__ import annotations

import warnings
from pathlib import Path

from enginescope.judge.notice import Notice


class Observer:
    """Receives the reports of a service; a caller overrides what it shows.

    The base class is what Python callers get: warnings are Python warnings, progress is silent, and
    nothing is canceled. Services never print and never read ``sys``.
    """

    def warn(self, text: str) -> None:
        """Report what was skipped, or measured and not stored."""
        warnings.warn(text, stacklevel=2)

    def check_cancelled(self) -> None:
        """Raise `KeyboardInterrupt` to cancel.

        Services call it between jobs, rounds, sides and cells, where everything so far is stored.
        """


class PlanObserver(Observer):
    """Receives warnings, notices, progress and written files; Python callers get warnings only."""

    def notice(self, notice: Notice) -> None:
        """Report a notice about the inputs."""
        if notice.level == "warning":
            self.warn(f"{notice.message} ({notice.code})")

    def progress(self, text: str) -> None:
        """Report that a step starts which takes seconds."""

    def file_written(self, path: Path) -> None:
        """Report a file that was asked for."""
