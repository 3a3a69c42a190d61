"""What the verbs that read plans report."""

from __future__ import annotations

from pathlib import Path

from enginescope.records.notice import Notice
from enginescope.services.observer import Observer


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
