"""Progress of a comparison of answers: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from enginescope.backends.base import Progress
from enginescope.cli.live import Shown, can_take_back, error_console
from enginescope.cli.progress import describe
from enginescope.model.job import Job
from enginescope.render.shortened import shorten
from enginescope.validation_sides import side_label

#: Columns of the bar; of what stands beside it but the counts: phase, time, spaces.
_BAR, _BESIDE = 20, 26
_LEAST_ROOM = 12


class ValidationProgress(Shown[Bars]):
    """Shows who answers and how many samples are done; on standard error."""

    def __init__(self, samples: int, *, quiet: bool = False) -> None:
        self._samples = samples
        self._quiet = quiet
        console = error_console()
        super().__init__(None)
        if not quiet and can_take_back(console):
            self._live = Bars(
                TextColumn("{task.description}"),
                BarColumn(bar_width=_BAR),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._task = self._live.add_task("", total=samples)
        self._room = max(_LEAST_ROOM, console.width - _BAR - _BESIDE - 2 * len(f"{samples}"))

    def watch(self, job: Job, progress: Progress | None) -> None:
        """Show where a side stands; ``None``: it begins."""
        asked = len(job.answering.samples) if job.answering else 0
        if self._live:
            if progress is None:  # what is left of a side says nothing of the next
                self._live.reset(self._task)
            phase = describe(progress) if progress else "starting"
            done = progress.samples if progress else 0
            text = f"{shorten(side_label(job), self._room)} · {phase.partition(' · ')[0]}"
            self._live.update(self._task, description=text, completed=done)
        elif progress is None and not self._quiet and asked:
            print(
                f"{side_label(job)}: {asked:,} sample{'' if asked == 1 else 's'} …",
                file=sys.stderr,
                flush=True,
            )

    def comparing(self, number: int) -> None:
        """Show which sample is being compared."""
        if self._live:
            if number == 0:
                self._live.reset(self._task)
            self._live.update(self._task, description="comparing", completed=number)
