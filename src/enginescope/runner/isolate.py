"""One job in one fresh process: bounded in time and memory, killed whole, its end made data."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec
import psutil

from enginescope.core.errors import MAKE_SPACE, FormatError, has_no_space, reserve
from enginescope.core.jsonio import encode, write_atomic
from enginescope.core.record import Record, replace
from enginescope.core.sidecar import load_record
from enginescope.core.units import format_bytes
from enginescope.judge.samples import frozen
from enginescope.probe.host import TreeMemory, available_bytes, children_pinned_to, oom_kills
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, Limits
from enginescope.records.run.run import Outcome, OutcomeKind
from enginescope.records.run.telemetry import Channel, Telemetry
from enginescope.runner.environment_fingerprint import interpreter
from enginescope.runner.worker import PROGRESS, RESERVED, RESULT, Task, WorkerResult

LOG = "worker.log"
#: A result with a million samples is smaller.
_RESULT_BYTES = 16 << 20
#: A log that has grown to this is cut down to its two ends: a backend that repeats itself would
#: fill the disk, and the store after it.
LOG_LIMIT_BYTES = 16 << 20
LOG_KEPT_BYTES = 1 << 20
_LOG_CUT = b"\n[enginescope: the log had grown too long; a part is left out here]\n"
#: Between two looks at a worker. A look costs some 0.1 ms of a core.
POLL_S = 0.1
#: Share of the free memory that a worker may take when no limit is given: beyond it the machine
#: would start to swap or kill, and then nothing is measured any more.
DEFAULT_MEMORY_SHARE = 0.9
_TAIL_LINES = 12
#: How long the log is waited for after its worker's end: a process that outlives it may hold it.
_LAST_WORDS_S = 2.0
#: Workers of all threads, for the one that is told to end.
_RUNNING: set[subprocess.Popen[bytes]] = set()


class Ended(Record, frozen=True, kw_only=True, eq=False):
    """How a worker ended.

    Attributes:
        result: ``None`` when it left none that can be read.
        memory: Resident memory of its process tree, sampled from outside.
    """

    outcome: Outcome
    result: WorkerResult | None
    memory: Telemetry


def run_isolated(
    job: Job,
    folder: Path,
    on_progress: Callable[[Progress], None],
    task: Task = "measure",
    on_spawned: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> Ended:
    """Do `task` of `job` in a fresh interpreter and wait for its end.

    Args:
        folder: Empty; gets the job, the result, the progress and the worker's log.
        on_progress: Told where the job stands, a few times a second.
        on_spawned: Gets the process, which then reads from a pipe.

    Raises:
        KeyboardInterrupt: Passed on, after the worker and all its children are dead.
    """
    job_file = folder / "job.json"
    write_atomic(job_file, encode(job))
    if task == "measure":  # a disk that fills up meanwhile still takes the figures
        reserve(folder / RESERVED, _RESULT_BYTES)
    kills_before = oom_kills()
    with children_pinned_to(job.conditions.pinned_cores if task == "measure" else ()):
        process = _spawn(job_file, folder, task, has_input=on_spawned is not None)
    with killed_after(process):
        # opened here: an interruption may remove the folder before the thread begins
        file = (folder / LOG).open("w+b", buffering=0)
        log = threading.Thread(target=_keep_log, args=(process.stdout, file), daemon=True)
        log.start()
        if on_spawned is not None:
            on_spawned(process)
        limits = job.limits
        if task in ("build", "make_ready"):
            limits = replace(limits, timeout_s=limits.build_timeout_s)
        watch = _Watch(process, limits, folder, on_progress)
        verdict = watch.until_end()
    log.join(_LAST_WORDS_S)
    killed_by_kernel = (oom_kills() or 0) > (kills_before or 0)
    outcome, result = _conclude(process.returncode, verdict, folder, killed=killed_by_kernel)
    return Ended(outcome=outcome, result=result, memory=watch.memory())


def _spawn(job_file: Path, folder: Path, task: Task, *, has_input: bool) -> subprocess.Popen[bytes]:
    command = [*interpreter(), "-m", "enginescope.runner.worker", str(job_file), str(folder)]
    # its own group, so that all of it can be killed and Ctrl-C reaches only the parent
    return subprocess.Popen(
        [*command, str(time.monotonic_ns()), str(os.getpid()), task],
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


class _Watch:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        folder: Path,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._process = process
        self._tree = TreeMemory(process.pid) if process.poll() is None else None
        self._timeout_s = limits.timeout_s
        self._memory_limit = limits.memory_bytes or int(DEFAULT_MEMORY_SHARE * available_bytes())
        self._progress_file = folder / PROGRESS
        self._on_progress = on_progress
        self._begin = time.monotonic()
        self._times_ms: list[float] = []
        self._rss: list[float] = []
        self._last_progress = b""

    def until_end(self) -> Outcome | None:
        """Return when the worker has ended, with the verdict if it must be ended from here."""
        while self._process.poll() is None:
            verdict = self._look()
            if verdict is not None:
                return verdict
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
        self._report_progress()
        return None

    def memory(self) -> Telemetry:
        rss = Channel(name="rss_bytes", values=frozen(self._rss))
        return Telemetry(time_ms=frozen(self._times_ms), channels=(rss,))

    def _look(self) -> Outcome | None:
        elapsed = time.monotonic() - self._begin
        rss = self._tree.rss_bytes() if self._tree else None
        if rss is not None:
            self._times_ms.append(elapsed * 1e3)
            self._rss.append(float(rss))
        self._report_progress()
        if rss is not None and rss > self._memory_limit:
            used, limit = format_bytes(rss), format_bytes(self._memory_limit)
            message = f"used {used} of memory, the limit is {limit}"
            hint = "a smaller batch or shape, or --memory-limit"
            return Outcome(kind=OutcomeKind.OUT_OF_MEMORY, message=message, hint=hint)
        if elapsed > self._timeout_s:
            message = f"did not end within {self._timeout_s:g} s"
            hint = "--timeout, or a shorter --max-time"
            return Outcome(kind=OutcomeKind.TIMED_OUT, message=message, hint=hint)
        return None

    def _report_progress(self) -> None:
        try:
            data = self._progress_file.read_bytes()
        except OSError:  # nothing reported yet
            return
        if data and data != self._last_progress:
            self._last_progress = data
            with contextlib.suppress(msgspec.DecodeError):
                self._on_progress(msgspec.json.decode(data, type=Progress))


@contextlib.contextmanager
def killed_after(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have no process of a group of its own outlive the block, nor `kill_running`."""
    _RUNNING.add(process)
    try:
        yield
    finally:
        kill_tree(process)
        _RUNNING.discard(process)


def kill_running() -> None:
    """Kill the workers of all threads of this process, each with everything it has started."""
    for process in tuple(_RUNNING):
        kill_tree(process)


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker with everything it has started, and wait for it."""
    members: list[psutil.Process] = []
    try:
        with contextlib.suppress(psutil.Error):
            members = psutil.Process(process.pid).children(recursive=True)
    finally:  # a second Ctrl-C may have come meanwhile
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for member in members:  # those that left the group
        with contextlib.suppress(psutil.Error):
            member.kill()
    process.wait()
    psutil.wait_procs(members, timeout=5)


def _conclude(
    status: int, verdict: Outcome | None, folder: Path, *, killed: bool
) -> tuple[Outcome, WorkerResult | None]:
    """Turn exit status, our own verdict and what lies in `folder` into an outcome."""
    tail = _tail(folder / LOG)
    if verdict is not None:
        return replace(verdict, detail=tail), None
    if status < 0:
        return _signalled(-status, tail, killed=killed), None
    if status != 0:
        message = f"the worker exited with status {status} and left no result"
        hint = "the log of the worker is kept with the run"
        if has_no_space(folder):
            message, hint = f"{message}: the disk of {folder.parent} is full", MAKE_SPACE
        crash = Outcome(kind=OutcomeKind.CRASHED, message=message, exit_code=status, hint=hint)
        return replace(crash, detail=tail), None
    try:
        result = load_record(WorkerResult, folder, RESULT)
    except FormatError as error:
        message = f"the worker left a result that cannot be read: {error}"
        return Outcome(kind=OutcomeKind.FAILED, message=message, exit_code=0, detail=tail), None
    outcome = result.outcome
    if outcome.kind is not OutcomeKind.OK and outcome.detail is None:
        outcome = replace(outcome, detail=tail)
    return outcome, result


def _signalled(number: int, tail: str | None, *, killed: bool) -> Outcome:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    kind, message = OutcomeKind.CRASHED, f"died of {name}"
    hint = "the log of the worker is kept with the run"
    if number == signal.SIGKILL and killed:
        kind, message = OutcomeKind.OUT_OF_MEMORY, "killed by the kernel for memory"
        hint = "a smaller batch or shape"
    return Outcome(kind=kind, message=message, hint=hint, signal=number, detail=tail)


def _keep_log(output: IO[bytes], log: IO[bytes]) -> None:
    """Write a worker's output to its log until the last process that holds it has ended.

    One that has grown too long loses its middle. Nobody else writes to the log, so that no last
    words are lost to the cut.
    """
    with output, log:
        while part := os.read(output.fileno(), 1 << 16):
            with contextlib.suppress(OSError):  # the disk is full: the worker must not block
                log.write(part)
                if log.tell() > LOG_LIMIT_BYTES:
                    log.seek(-LOG_KEPT_BYTES, os.SEEK_END)
                    end = log.read()
                    log.seek(LOG_KEPT_BYTES)
                    log.write(_LOG_CUT + end)
                    log.truncate()


def _tail(path: Path) -> str | None:
    """Return the end of a worker's log; from a fatal error's first line, where there is one."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]
    fatal = [number for number, line in enumerate(lines) if line.startswith("Fatal Python error")]
    shown = lines[fatal[-1] :][:_TAIL_LINES] if fatal else lines[-_TAIL_LINES:]
    return "\n".join(shown) or None
