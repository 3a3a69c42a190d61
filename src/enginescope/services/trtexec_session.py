"""One call of trtexec's command line: build or measure, its log, its run and its files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import EnginescopeError, UsageError, os_errors_as
from enginescope.core.record import Record, replace
from enginescope.services.observer import Observer
from enginescope.services.output_files import check_outputs
from enginescope.services.store_access import place_of, writable_store

if TYPE_CHECKING:
    from enginescope.compat.trtexec.arguments import Version
    from enginescope.compat.trtexec.files import KeptTexts
    from enginescope.compat.trtexec.log.log import Line
    from enginescope.compat.trtexec.settings import Settings
    from enginescope.records.environment import Device
    from enginescope.records.run.job import Job, Watcher
    from enginescope.records.run.run import Run, TensorValues
    from enginescope.store.archive import Store

_HEAD_BYTES = 64


class TrtexecObserver(Observer):
    """Receives the log as it grows."""

    def status(self, line: str) -> None:
        """Report the first or the last line, which has no prefix."""

    def lines(self, lines: Iterable[Line]) -> None:
        """Report messages."""

    def run_stored(self, run: Run) -> None:
        """Report a run that is in the store."""

    def measuring(self, job: Job) -> AbstractContextManager[Watcher | None]:
        """Return what surrounds the build or the measurement, and watches its progress."""
        del job
        return nullcontext()


class TrtexecRequest(Record, frozen=True, kw_only=True):
    """Settings with the arguments that they were read from, and the command line to record."""

    settings: Settings
    arguments: tuple[str, ...]
    command: str | None = None


def run_trtexec(request: TrtexecRequest, observer: TrtexecObserver) -> bool:
    """Build, measure or inspect an engine as trtexec does; return whether all went well."""
    settings = request.settings
    _check_files(settings)
    session = _Session(request, observer)
    if settings.version_only:
        return session.run(_Session.report_plan_version)
    job, store = _job(settings), writable_store(place_of(settings.arguments.store or None))
    return session.run(lambda running: running.measure(job, store))


class _Session:
    """One call: reports its log as it grows, and remembers whether all went well."""

    def __init__(self, request: TrtexecRequest, observer: TrtexecObserver) -> None:
        self._request, self._observer = request, observer
        self._settings = request.settings
        self._version = request.settings.arguments.version
        self._typed = ("enginescope", "trtexec", *request.arguments)
        self._is_well = True

    def run(self, work: Callable[[_Session], None]) -> bool:
        from enginescope.compat.trtexec.log.log import option_lines, status, warning

        self._observer.status(status("RUNNING", self._version, self._typed))
        self._observer.lines(warning(*self._settings.warnings))
        self._observer.lines(option_lines(self._settings))
        try:
            work(self)
        except EnginescopeError as problem:
            self._fail(problem)
        word = "PASSED" if self._is_well else "FAILED"
        self._observer.status(status(word, self._version, self._typed))
        return self._is_well

    def report_plan_version(self) -> None:
        from enginescope.compat.trtexec.log.log import info
        from enginescope.formats.plan.engine_file import engine_header

        path = Path(self._settings.model)
        with os_errors_as(UsageError, f"engine {path}"), path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        version = engine_header(head, str(path)).version
        self._observer.lines(info(f"Plan was created with TensorRT version {version}"))

    def measure(self, job: Job, store: Store) -> None:
        from enginescope.runner.session import build_engines, run_jobs

        self._say_device()
        kept: list[tuple[Run, KeptTexts]] = []
        only_builds = self._settings.skip_inference and self._settings.load_engine is None
        work = build_engines if only_builds else run_jobs
        with self._observer.measuring(job) as watcher:

            def keep(run: Run) -> None:
                kept.append((run, self._taken(run, store)))

            work([job], keep, command=self._request.command, watcher=watcher)
        for run, texts in kept:
            self._present(run, texts)
            self._observer.run_stored(run)

    def _taken(self, run: Run, store: Store) -> KeptTexts:
        """Store a run, and take what is there only as long as its files are."""
        from enginescope.compat.trtexec.files import kept_texts

        store.save(run)
        target = self._settings.save_engine
        if target is not None and run.build is not None and run.is_ok:
            try:
                shutil.copyfile(run.build.engine, target)
            except OSError as problem:
                self._fail(UsageError(f"cannot write {target}", why=str(problem)))
        return kept_texts(run)

    def _present(self, run: Run, texts: KeptTexts) -> None:
        from enginescope.compat.trtexec.files import exported, raw_files
        from enginescope.compat.trtexec.log.report import run_lines

        self._observer.lines(run_lines(run, self._settings, texts))
        if not run.is_ok:
            self._is_well = False
            return
        for path, content in exported(self._settings):
            self._write(path, partial(content, run, texts))
        for name, data in raw_files(self._settings, partial(_fed, run), run.answers):
            self._write(name, partial(bytes, data))

    def _write(self, path: str, content: Callable[[], bytes]) -> None:
        """Write a file that was asked for; one that cannot be written fails the call."""
        try:
            Path(path).write_bytes(content())
        except EnginescopeError as problem:
            self._fail(problem)
        except OSError as problem:
            self._fail(UsageError(f"cannot write {path}", why=problem.strerror or str(problem)))

    def _say_device(self) -> None:
        from enginescope.backends.tensorrt.cuda import Driver
        from enginescope.backends.tensorrt.libraries import load_cuda
        from enginescope.compat.trtexec.log.log import device_lines
        from enginescope.probe.nvml import probe_device, probe_devices

        index = int(self._settings.options.get("device", "0"))
        try:
            selected: Device | None = Driver(load_cuda("runtime")).described(index)
        except (EnginescopeError, MemoryError):  # the measurement says why
            selected = probe_device(index)
        self._observer.lines(device_lines(probe_devices(), selected, index, self._version))

    def _fail(self, problem: EnginescopeError) -> None:
        from enginescope.compat.trtexec.log.log import error

        hint = error(f"  try: {problem.hint}") if problem.hint else ()
        self._observer.lines((*error(str(problem)), *hint))
        self._is_well = False


def _job(settings: Settings) -> Job:
    from enginescope.backends.registry import load_backend
    from enginescope.compat.trtexec.settings import job_of
    from enginescope.runner.jobs import check_demands, subject_of

    subject = subject_of(Path(settings.model))
    kind = "engine" if settings.load_engine else "onnx"
    job = job_of(settings, replace(subject, kind=kind))
    load_backend(job.backend.name).check(job.backend)
    only_builds = settings.skip_inference and settings.load_engine is None
    check_demands(job.backend, job.workload.mode, only_builds=only_builds)
    return job


def _check_files(settings: Settings) -> None:
    """Raise `UsageError` if a file cannot be read or written: better known at once."""
    from enginescope.compat.trtexec.files import written_paths

    for file in settings.files:
        if not Path(file.path).is_file():
            raise UsageError(f"--loadInputs: {file.name}", why=f"there is no file {file.path}")
    check_outputs(
        written_paths(settings), [settings.model, *(file.path for file in settings.files)]
    )
    for path in written_paths(settings):
        folder = Path(path).resolve().parent
        if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            why = "it is a folder" if Path(path).is_dir() else f"{folder} is not a writable folder"
            raise UsageError(f"cannot write {path}", why=why)


def _fed(run: Run) -> tuple[TensorValues, ...]:
    """Return the values of the inputs: those of its files, or the same random ones again."""
    from enginescope.backends.base import InputSpec
    from enginescope.records.run.run import TensorValues
    from enginescope.runner.inputs.inputs import make_feeds

    specs = tuple(
        InputSpec(name=one.name, dtype=one.dtype, shape=one.shape or (), type_text=str(one.dtype))
        for one in run.inputs
    )
    # the batch was read off the inputs, and is not to be compared with each of them
    feeds = make_feeds(specs, replace(run.job.workload, batch=None))
    return tuple(
        TensorValues(
            name=one.name,
            dtype=one.dtype,
            shape=feeds.shapes[one.name],
            data=feeds.arrays[one.name],
        )
        for one in run.inputs
        if one.dtype is not None
    )


def installed_tensorrt(arguments: tuple[str, ...]) -> Version | None:
    """Return the version of the TensorRT in use: of the runtime asked for, else of the fullest."""
    from enginescope.backends.tensorrt.libraries import installed_version
    from enginescope.compat.trtexec.arguments import parse_version

    runtimes = [text.partition("=")[2] for text in arguments if text.startswith("--useRuntime=")]
    runtime = runtimes[-1] if runtimes and runtimes[-1] in ("lean", "dispatch") else None
    text = installed_version(runtime)
    return parse_version(text) if text else None
