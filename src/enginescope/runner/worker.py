"""The child process: reads a job, does it, writes a result folder.

``python -m enginescope.runner.worker JOB.json OUTDIR SPAWNED_NS PARENT_PID TASK``, where TASK is
``measure``, ``build``, ``make_ready``, ``inspect`` or ``answer``. A contender (`Job.contention`)
reads from its standard input when to begin, and the window.

A worker does not outlive the process that waits for it, however that one dies.
"""

import ctypes
import faulthandler
import os
import select
import signal
import sys
import threading
import time
import traceback
from functools import partial
from pathlib import Path
from typing import IO, Literal, cast

import msgspec

from enginescope.backends import base, contention
from enginescope.backends.registry import backend_of
from enginescope.backends.varying_shapes import Changing
from enginescope.core.errors import EnginescopeError, UnsupportedError
from enginescope.core.jsonio import decode, read_bytes
from enginescope.core.record import Record, replace
from enginescope.core.sidecar import save_record
from enginescope.probe.clock import timer_resolution_ms
from enginescope.probe.environment import probe_environment
from enginescope.probe.host import peak_rss_bytes
from enginescope.records.environment import Environment
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job
from enginescope.records.run.run import Outcome, OutcomeKind, Phase
from enginescope.records.run.telemetry import counted_from
from enginescope.runner.inputs.infer_samples import answer_samples, change_shapes
from enginescope.runner.inputs.inputs import make_feeds


def exit_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, ends (Linux).

    A worker has a session of its own, so neither a closed terminal nor a kill of its parent
    reaches it, and nobody is left to bound it: it would run on beside every later measurement.

    Args:
        parent: Process id, to see whether it is gone already.
    """
    if sys.platform != "linux":
        return
    death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)


RESULT = "result.json"
#: A file without content, removed before the result is written: it held the space for it.
RESERVED = "reserved"
PROGRESS = "progress.json"
#: Texts that belong to the run lie in this folder.
FILES = "files"
#: Further jobs that the worker does at the same time, each in a thread; their results lie in
#: folders with their numbers.
FURTHER_JOBS = "further.json"
Task = Literal["measure", "build", "make_ready", "inspect", "answer"]


class WorkerResult(Record, frozen=True, kw_only=True, eq=False):
    """What a worker leaves for its parent.

    Attributes:
        timer_resolution_ms: Smallest step of the clock the samples were taken with.
    """

    outcome: Outcome
    environment: Environment = Environment()
    measured: base.Measured = base.Measured()
    phases: tuple[Phase, ...] = ()
    peak_memory_bytes: int | None = None
    timer_resolution_ms: float | None = None


def main(arguments: list[str]) -> int:
    """Run the worker; the exit status is 0 whenever a result was written."""
    entered_ns = time.monotonic_ns()
    exit_with_parent(int(arguments[3]))
    faulthandler.enable()  # a crash leaves a trace in the log
    job_path, folder, spawned_ns = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    job = decode(read_bytes(job_path), Job, source=str(job_path))
    start = Phase(name="process_start", duration_ms=(entered_ns - spawned_ns) / 1e6)
    for place, result in _results(job, folder, cast("Task", arguments[4])).items():
        _write(result, place, start, spawned_ns)
    return 0


def _write(result: WorkerResult, folder: Path, start: Phase, spawned_ns: int) -> None:
    """Write a result, and beside it the texts that become files of the run."""
    measured = result.measured
    for name, text in measured.files.items():
        (folder / FILES).mkdir(exist_ok=True)
        (folder / FILES / name).write_text(text, encoding="utf-8")
    # the times of the GPU's readings count from where those of the memory begin
    gpu = measured.gpu and counted_from(measured.gpu, spawned_ns / 1e6)
    result = replace(
        result,
        measured=replace(measured, files={}, gpu=gpu),
        phases=(start, *result.phases),
        peak_memory_bytes=measured.peak_memory_bytes or peak_rss_bytes(),
    )
    (folder / RESERVED).unlink(missing_ok=True)
    save_record(result, folder, RESULT)


def _results(job: Job, folder: Path, task: Task) -> dict[Path, WorkerResult]:
    """Return what became of the job, or of several at the same time, by the folder of each."""
    further = folder / FURTHER_JOBS
    if further.exists():
        jobs = decode(read_bytes(further), tuple[Job, ...], source=str(further))
        return execute_together((job, *jobs), folder)
    meeting = None
    if job.contention is not None:
        meeting = ParentMeeting(sys.stdin.buffer, partial(_write_progress, folder / PROGRESS))
    return {folder: execute(job, folder, task, meeting)}


def execute_together(jobs: tuple[Job, ...], folder: Path) -> dict[Path, WorkerResult]:
    """Measure contenders at the same time, each in a thread of this process.

    Returns:
        By the folder of each: the first one's is `folder`, the others' lie in it.
    """
    rendezvous = contention.Rendezvous(len(jobs), jobs[0].workload.stop.duration_ms or 0.0)
    places = [folder, *(folder / str(number) for number in range(1, len(jobs)))]
    results: dict[Path, WorkerResult] = {}

    def work(number: int) -> None:
        place = places[number]
        place.mkdir(exist_ok=True)
        try:
            results[place] = execute(
                jobs[number], place, "measure", contention.Seat(rendezvous, number)
            )
        finally:
            rendezvous.abort()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {place: results[place] for place in places}


class ParentMeeting:
    """Meets other workers: the parent of all reads the progress of each, and answers by lines.

    Args:
        lines: An empty line when all have loaded; then the window, in nanoseconds. Its end: another
            contender ended.
    """

    def __init__(self, lines: IO[bytes], report: base.ProgressSink) -> None:
        self._lines, self._report = lines, report

    def loaded(self) -> None:
        """Wait until all contenders have loaded."""
        self._report(Progress(phase=contention.LOADED))
        self._line()

    def warm(self, typical_ms: float) -> contention.Window | None:
        """Say that this contender is warm; return the window once all are."""
        self._report(Progress(phase=contention.WARM, median_ms=typical_ms))
        if not select.select([self._lines], [], [], 0)[0]:
            return None
        begin, end = self._line().split()
        return contention.Window(int(begin), int(end))

    def _line(self) -> bytes:
        line = self._lines.readline()
        if not line:
            raise contention.other_ended()
        return line


def execute(
    job: Job, folder: Path, task: Task = "measure", meeting: contention.Meeting | None = None
) -> WorkerResult:
    """Do `task` of `job` in this process and return the result, whatever became of it.

    Args:
        meeting: Where a contender meets the others.
    """
    if meeting is not None:
        contention.MEETING.set(meeting)
    environment = probe_environment()
    report = partial(_write_progress, folder / PROGRESS)
    report(Progress(phase="imports"))
    begin = time.perf_counter_ns()
    try:
        backend = backend_of(job.backend)
        backend.prepare()
        imports = Phase(name="imports", duration_ms=(time.perf_counter_ns() - begin) / 1e6)
        measured = _do(task, backend, job, report)
    except Exception as error:  # noqa: BLE001 - the border: any bug becomes a recorded outcome
        return _failure(error, environment)
    return WorkerResult(
        outcome=Outcome(),
        environment=environment,
        measured=measured,
        phases=(imports, *measured.phases),
        timer_resolution_ms=timer_resolution_ms(),
    )


def _do(task: Task, backend: base.Backend, job: Job, report: base.ProgressSink) -> base.Measured:
    def feeds(specs: tuple[base.InputSpec, ...]) -> base.Feeds:
        return make_feeds(specs, job.workload)

    if task == "build":
        return cast("base.Builder", backend).build(job, report)
    if task == "make_ready":
        return cast("base.Preparing", backend).make_ready(job, feeds, report)
    if task == "inspect":
        return cast("base.Inspecting", backend).inspect(job, report)
    if task == "answer":
        return answer_samples(cast("base.Answering", backend), job, report)
    if job.shapes is not None:
        return change_shapes(cast("Changing", backend), job, job.shapes, report)
    return backend.execute(job, feeds, report)


def _failure(error: BaseException, environment: Environment) -> WorkerResult:
    kind, hint = OutcomeKind.FAILED, None
    if isinstance(error, MemoryError):
        kind, hint = OutcomeKind.OUT_OF_MEMORY, "a smaller batch or shape"
    elif isinstance(error, UnsupportedError):
        kind = OutcomeKind.UNSUPPORTED
    # a backend that runs out of the device's memory says where; Python itself says nothing
    known = isinstance(error, EnginescopeError) or (isinstance(error, MemoryError) and error.args)
    message = str(error) or type(error).__name__
    outcome = Outcome(
        kind=kind,
        message=message if known else f"{type(error).__name__}: {message}",
        hint=error.hint if isinstance(error, EnginescopeError) else hint,
        detail=None if known else "".join(traceback.format_exception(error)),
    )
    return WorkerResult(outcome=outcome, environment=environment)


def _write_progress(path: Path, progress: Progress) -> None:
    """Write where the job stands; no sync, a lost line of progress is not a loss."""
    temporary = path.with_suffix(".part")
    temporary.write_bytes(msgspec.json.encode(progress))
    temporary.replace(path)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # All is written. Libraries of GPU makers are known to crash while they are unloaded, and that
    # would turn a complete result into a failed run.
    os._exit(status)
