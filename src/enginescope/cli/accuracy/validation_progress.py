"""Progress of outputs and comparisons, and of ``depth``: a bar on a terminal, else plain lines."""

from contextlib import ExitStack

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from enginescope.cli.messages import note, warn
from enginescope.cli.progress import JobProgress, Shown, can_take_back, describe, error_console
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Watcher
from enginescope.records.run.run import Run
from enginescope.render.base.short_names import shorten
from enginescope.services.accuracy.request import DepthObserver, ValidationObserver
from enginescope.services.accuracy.sides import side_label

#: Columns of the bar; of what stands beside it but the counts: phase, time, spaces.
_BAR, _BESIDE = 20, 26
_LEAST_ROOM = 12


class ValidationProgress(ValidationObserver, Shown[Bars]):
    """Shows the side that runs and the samples that are done; on standard error."""

    def __init__(self) -> None:
        self._console = error_console()
        self._room = _LEAST_ROOM
        super().__init__(None)
        if can_take_back(self._console):
            self._live = Bars(
                TextColumn("{task.description}"),
                BarColumn(bar_width=_BAR),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )

    def warn(self, text: str) -> None:
        warn(text)

    def comparison_started(self, samples: int) -> None:
        if self._live:
            for task in self._live.task_ids:  # of an earlier comparison
                self._live.remove_task(task)
            self._task = self._live.add_task("", total=samples)
        width = self._console.width - _BAR - _BESIDE - 2 * len(f"{samples}")
        self._room = max(_LEAST_ROOM, width)

    def side_progressed(self, job: Job, progress: Progress | None) -> None:
        asked = len(job.answering.samples) if job.answering else 0
        if self._live:
            if progress is None:  # what is left of a side says nothing of the next
                self._live.reset(self._task)
            phase = describe(progress) if progress else "starting"
            done = progress.samples if progress else 0
            text = f"{shorten(side_label(job), self._room)} · {phase.partition(' · ')[0]}"
            self._live.update(self._task, description=text, completed=done)
        elif progress is None and asked:
            note(f"{side_label(job)}: {asked:,} sample{'' if asked == 1 else 's'} …")

    def sample_compared(self, number: int) -> None:
        if self._live:
            if number == 0:
                self._live.reset(self._task)
            self._live.update(self._task, description="comparing", completed=number)


class DepthProgress(ValidationProgress, DepthObserver):
    """Shows the steps one after another; notes come after the result."""

    def __init__(self) -> None:
        super().__init__()
        self._timing = ExitStack()
        self._jobs = JobProgress()
        self._notes: list[str] = []

    def warn(self, text: str) -> None:
        """Keep a note for `print_notes`."""
        self._notes.append(text)

    def print_notes(self) -> None:
        for text in self._notes:
            warn(f"enginescope: {text}")

    def jobs_started(self, jobs: tuple[Job, ...]) -> None:
        """Show the measured jobs in place of the outputs."""
        if self._live:
            self._live.stop()
        self._jobs.jobs_started(jobs)
        self._timing.enter_context(self._jobs)

    @property
    def watcher(self) -> Watcher:
        return self._jobs.watcher

    def run_ended(self, run: Run, *, is_stored: bool) -> None:
        self._jobs.run_ended(run, is_stored=is_stored)

    def standing(self) -> str:
        return self._jobs.standing()

    def __exit__(self, *error: object) -> None:
        self._timing.close()
        super().__exit__(*error)
