"""Progress of jobs on standard error: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

from rich.console import Console
from rich.live import Live
from rich.progress import Progress as Bars
from rich.text import Text

from enginescope.cli.messages import detail, is_usual, note, warn
from enginescope.cli.verb import EXIT_INTERRUPTED, saying_what_stands
from enginescope.judge.units import counted, format_ms, format_span
from enginescope.records.environment import ClockLock
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.run import OutcomeKind, Run
from enginescope.render.base.facts import subject_names
from enginescope.services.measurement.observer import MeasurementObserver

T = TypeVar("T", Live, Bars)
S = TypeVar("S", bound="Shown")  # type: ignore[type-arg]


def error_console() -> Console:
    """Return a console on standard error."""
    return Console(stderr=True, highlight=False)


def can_take_back(console: Console) -> bool:
    """Whether a line can be taken back: on a terminal, not a dumb one, without -q and -v."""
    # rich also takes FORCE_COLOR, which CI sets, for a terminal
    is_terminal = sys.stderr is not None and sys.stderr.isatty() and console.is_terminal
    return is_usual() and is_terminal and not console.is_dumb_terminal


def live_lines(console: Console, *, per_second: float = 4) -> Live | None:
    """Return lines that can be shown and taken away; ``None`` where they could not be."""
    if not can_take_back(console):
        return None
    return Live(console=console, transient=True, refresh_per_second=per_second)


class Shown(Generic[T]):
    """Live lines or bars, or nothing, between ``with`` and its end."""

    _console: Console

    def __init__(self, live: T | None) -> None:
        self._live: T | None = live

    def __enter__(self: S) -> S:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live:
            self._live.stop()

    def _line(self, text: str) -> None:
        if self._live:
            self._console.print(Text(text))
        else:
            note(text)


_PHASES = {
    "loaded": "waiting for the others",
    "warm": "warm, waiting for the others",
    "cooldown": "cooling down",
    "imports": "importing",
    "parse": "parsing the model",
    "build": "building the engine",
    "convert": "converting the model",
    "infer_shapes": "inferring shapes",
    "load": "loading the model",
    "first_inference": "first inference",
    "warm_up": "warming up",
    "steady_state": "measuring",
    "telemetry": "sampling the GPU",
    "layer_profile": "profiling layers",
    "answers": "answering",
}


class JobProgress(Shown[Live], MeasurementObserver):
    """Shows the progress of jobs, between ``with`` and its end; `can_continue` by the verb."""

    can_continue = False
    _left_in_all = ""

    def __init__(self, jobs: tuple[Job, ...] = ()) -> None:
        self._jobs = jobs
        self._console = error_console()
        super().__init__(live_lines(self._console, per_second=8))
        self._begin = time.monotonic()
        self._said_to_cool: int | None = None
        self._stored = 0

    def warn(self, text: str) -> None:
        warn(f"enginescope: {text}")

    def jobs_started(self, jobs: tuple[Job, ...]) -> None:
        self._jobs = jobs

    def clocks_locked(self, locks: Mapping[str, ClockLock]) -> None:
        for gpu, lock in locks.items():
            note(f"GPU {gpu}: {lock} until the jobs have ended")

    def run_ended(self, run: Run, *, is_stored: bool) -> None:
        """Count a stored run, and print its outcome."""
        self._stored += is_stored
        if run.build is not None and run.build.from_cache:
            detail(f"cached engine {run.build.engine}")
        if run.preparation is not None and run.preparation.from_cache:
            detail(f"cached preparation of {run.job.subject.name}")
        self.ended(run)

    def _text(self, job: Job) -> str:
        """Return a job in a few words; models of one name by where their paths part ways."""
        subjects = [one.subject for one in self._jobs]
        names = dict(zip(subjects, subject_names(self._jobs), strict=True))
        return job_text(job, names.get(job.subject))

    def interrupted(self, error: BaseException) -> None:
        """Remember an interrupt, whose answer is shown before the program ends."""
        self.interruption = error

    def extent(self) -> str:
        """Return after how many rounds an interrupt came; nothing where that is not known."""
        return ""

    def left(self) -> str:
        """Return what stands after an interrupt, and the command line that goes on."""
        if not self.can_continue:
            return self.standing()
        return f"{self.standing()}; to continue: {self.again()}"

    def again(self) -> str:
        """Return the command line that goes on."""
        from enginescope.cli.process_options import command_line

        typed = command_line()
        return typed if " --continue" in typed else f"{typed} --continue"

    def standing(self) -> str:
        """Return what an interrupt leaves in the store."""
        count = f"{self._stored} of {len(self._jobs)} runs are"
        return f"{count if self._jobs else 'no run is'} stored"

    def ended(self, run: Run) -> None:
        """Say how a job has ended; alone on a terminal the summary says it."""
        if self._live and len(self._jobs) == 1:
            return
        self._line(f"{self._text(run.job)}: {_ending(run)}")

    def job_started(self, index: int, job: Job) -> None:
        self._begin = time.monotonic()
        text = f"{self._place(index)}{self._text(job)}"
        if self._live:
            self._live.update(Text(f"{text}\n  starting"))
        else:
            self._line(f"{text} …")

    def process_started(self, text: str) -> None:
        if self._live is not None:
            self._live.update(Text(f"{text}\n  starting{self._left_in_all}"))
        else:
            note(f"{text} …")

    def process_progressed(self, text: str, progress: Progress) -> None:
        if self._live is not None:
            self._live.update(Text(f"{text}\n  {describe(progress)}{self._left_in_all}"))

    def stands(self, text: str) -> None:
        """Print what is decided so far; the time that is left where no live line shows it."""
        self._line(text if self._live else f"{text}{self._left_in_all}")

    def time_left(self, seconds: float | None) -> None:
        """Show the time that the whole measurement will probably take."""
        self._left_in_all = f"; about {format_span(seconds)} left in all" if seconds else ""

    def job_progressed(self, index: int, progress: Progress) -> None:
        if self._live:
            text = f"{self._place(index)}{self._text(self._jobs[index])}\n  {describe(progress)}"
            self._live.update(Text(text, overflow="ellipsis", no_wrap=True))
        elif progress.phase == "cooldown" and self._said_to_cool != index:
            self._said_to_cool = index  # minutes without a line would look like a hang
            self._line(f"{self._place(index)}{describe(progress)}")

    def _place(self, index: int) -> str:
        return f"[{index + 1}/{len(self._jobs)}] " if len(self._jobs) > 1 else ""


class ProcessProgress(JobProgress):
    """Shows which process is under way, and prints what fails."""

    _so_far = ""

    def stands(self, text: str) -> None:
        self._so_far = f"{text}; "
        super().stands(text)

    def ended(self, run: Run) -> None:
        """Print a failure; of the others the screen at the end tells."""
        if run.outcome.kind is not OutcomeKind.OK:
            self._line(f"a process failed: {run.outcome.message or run.outcome.kind.value}")

    def standing(self) -> str:
        verb = "is" if self._stored == 1 else "are"
        return f"{self._so_far}{counted(self._stored, 'run')} {verb} stored"


@contextmanager
def measuring(progress: JobProgress, *, can_continue: bool = False) -> Iterator[None]:
    """In this block, show `progress`, and say what an interrupt leaves."""
    progress.can_continue = can_continue
    with progress, saying_what_stands(progress.left):
        yield


def exit_code(progress: JobProgress, usual: int = 0) -> int:
    """Return the exit code; after an interrupt say what stands and how to go on."""
    if progress.interruption is None:
        return usual
    warn(f"enginescope: interrupted{progress.extent()}; {progress.left()}")
    code = progress.interruption.code if isinstance(progress.interruption, SystemExit) else None
    return code if isinstance(code, int) else EXIT_INTERRUPTED


def describe(progress: Progress) -> str:
    """Return a phase, the live median and the most time that is left, as one phrase."""
    parts = [_PHASES.get(progress.phase, progress.phase)]
    if progress.median_ms is not None and progress.phase == "steady_state":
        parts.append(counted(progress.samples, "sample"))
        width = progress.half_width_pct
        within = f" ± {width:.2f} %" if width is not None else ""
        parts.append(f"median {format_ms(progress.median_ms)}{within}")
    if progress.fraction is not None:
        parts.append(f"{100 * progress.fraction:.0f} %")
    if progress.detail:
        parts.append(progress.detail)
    if progress.limit_ms is not None and progress.elapsed_ms is not None:
        left = max(0.0, progress.limit_ms - progress.elapsed_ms)
        parts.append(f"at most {left / 1e3:.0f} s left")
    return " · ".join(parts)


def job_text(job: Job, name: str | None = None) -> str:
    """Return a job in a few words; `name` tells its model from others."""
    return f"{name or job.subject.name} · {job.backend}"


def _ending(run: Run) -> str:
    if run.outcome.kind is OutcomeKind.OK and run.build is not None and run.stop is None:
        return "built" if not run.build.from_cache else "from the cache"
    if run.outcome.kind is OutcomeKind.OK and run.stop is not None:
        return f"ok, {run.stop.iterations:,} samples, run {run.id[:6]}"
    how = run.outcome.kind.value.replace("_", " ")
    return f"{how}: {run.outcome.message or ''}".rstrip(": ")
