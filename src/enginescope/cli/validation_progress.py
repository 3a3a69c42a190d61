"""Progress of a comparison of answers: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from enginescope.backends.base import Progress
from enginescope.cli.progress import describe, job_text
from enginescope.model.job import Job


class ValidationProgress:
    """Shows who answers and how many samples are done; on standard error."""

    def __init__(self, samples: int, *, quiet: bool = False) -> None:
        self._samples = samples
        self._quiet = quiet
        console = Console(stderr=True, highlight=False)
        self._bars: Bars | None = None
        if not quiet and console.is_terminal and not console.is_dumb_terminal:
            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._task = self._bars.add_task("", total=samples)

    def __enter__(self) -> ValidationProgress:
        """Start the bar."""
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bars:
            self._bars.stop()

    def watch(self, job: Job, progress: Progress | None) -> None:
        """Show where a side stands; ``None``: it begins."""
        asked = len(job.answering.samples) if job.answering else 0
        if self._bars:
            phase = describe(progress) if progress else "starting"
            done = progress.samples if progress else 0
            text = f"{job_text(job)} · {phase.partition(' · ')[0]}"
            self._bars.update(self._task, description=text, completed=done)
        elif progress is None and not self._quiet and asked:
            print(
                f"{job_text(job)}: {asked:,} sample{'' if asked == 1 else 's'} …",
                file=sys.stderr,
                flush=True,
            )

    def comparing(self, number: int) -> None:
        """Show which sample is being compared."""
        if self._bars:
            self._bars.update(self._task, description="comparing", completed=number)
