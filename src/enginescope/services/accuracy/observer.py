"""What a comparison of outputs reports while it runs."""

from __future__ import annotations

from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.services.observer import Observer


class ValidationObserver(Observer):
    """Receives which side runs, and which sample is compared."""

    def comparison_started(self, samples: int) -> None:
        """Report how many samples every side gets."""

    def side_progressed(self, job: Job, progress: Progress | None) -> None:
        """Report the progress of a side; ``None``: its process starts."""

    def sample_compared(self, number: int) -> None:
        """Report which sample is compared, from 0."""
