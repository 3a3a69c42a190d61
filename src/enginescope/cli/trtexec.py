"""``enginescope trtexec``: trtexec's command line, log and files, on TensorRT's Python API."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from enginescope.cli.bench import command_line, writable
from enginescope.cli.options import note
from enginescope.cli.outputs import check_outputs
from enginescope.core.errors import EnginescopeError, MissingDependencyError, UsageError

if TYPE_CHECKING:
    from enginescope.model.job import Job
    from enginescope.model.run import Run
    from enginescope.model.tensor_values import TensorValues
    from enginescope.store.archive import Store
    from enginescope.trtexec.kept_files import KeptTexts
    from enginescope.trtexec.log import Line
    from enginescope.trtexec.settings import Settings
    from enginescope.trtexec.version import Version

#: trtexec's own: of a build, a run or a file that failed.
EXIT_FAILED = 1
_HEAD_BYTES = 64
_INSTALL = "pip install tensorrt 'enginescope[trt]'"


class RawCommand(click.Command):
    """A command whose arguments click leaves alone: trtexec's are not in its form."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass all arguments on as they are."""
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("trtexec", cls=RawCommand, add_help_option=False)
def command(arguments: tuple[str, ...]) -> int:
    """Build, measure and inspect an engine as trtexec does."""
    from enginescope.trtexec.arguments import read_arguments, wants_help
    from enginescope.trtexec.help_text import help_text
    from enginescope.trtexec.settings import settings_of

    if wants_help(arguments):
        print(help_text(_installed(arguments)), end="")
        return 0
    version = _installed(arguments)
    if version is None:
        raise MissingDependencyError(f"TensorRT is not installed: {_INSTALL}")
    settings = settings_of(read_arguments(arguments, version))
    _check_files(settings)
    if settings.version_only:
        return _Session(settings, arguments).run(_Session.print_plan_version)
    job, store = _job(settings), _store(settings)
    return _Session(settings, arguments).run(lambda one: one.measure(job, store))


class _Session:
    """One call: prints as it goes, and remembers whether all went well."""

    def __init__(self, settings: Settings, arguments: tuple[str, ...]) -> None:
        self._settings = settings
        self._version = settings.arguments.version
        self._typed = ("enginescope", "trtexec", *arguments)
        self._is_well = True

    def run(self, do: Callable[[_Session], None]) -> int:
        """Do what is asked between the first line and the last, and return the exit code."""
        from enginescope.trtexec.log import status, warning
        from enginescope.trtexec.option_sections import option_lines

        print(status("RUNNING", self._version, self._typed), flush=True)
        say(warning(*self._settings.warnings))
        say(option_lines(self._settings))
        try:
            do(self)
        except EnginescopeError as problem:
            self._fail(problem)
        word = "PASSED" if self._is_well else "FAILED"
        print(status(word, self._version, self._typed), flush=True)
        return 0 if self._is_well else EXIT_FAILED

    def print_plan_version(self) -> None:
        """Say which TensorRT wrote the engine."""
        from enginescope.trtexec.log import info
        from enginescope.trtexec.plan_version import plan_version

        path = Path(self._settings.model)
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD_BYTES)
        except OSError as problem:
            raise UsageError(f"engine {path}", why=problem.strerror or str(problem)) from problem
        version = plan_version(head, str(path))
        say(info(f"Plan was created with TensorRT version {version}"))

    def measure(self, job: Job, store: Store) -> None:
        """Build or run, store the run, print its report and write the files asked for."""
        from enginescope.cli.progress import JobProgress
        from enginescope.cli.termination import ending_in_order
        from enginescope.runner.session import build_engines, run_jobs

        self._say_device()
        kept: list[tuple[Run, KeptTexts]] = []
        only_builds = self._settings.skip_inference and self._settings.load_engine is None
        do = build_engines if only_builds else run_jobs
        with ending_in_order(), JobProgress((job,), quiet=not _is_terminal()) as progress:

            def keep(run: Run) -> None:
                kept.append((run, self._taken(run, store)))

            do([job], keep, command=command_line(), watcher=progress.watcher)
        for run, texts in kept:
            self._present(run, texts)
            note(f"enginescope: run {run.id}")

    def _taken(self, run: Run, store: Store) -> KeptTexts:
        """Store a run, and take what is there only as long as its files are."""
        from enginescope.trtexec.kept_files import kept_texts

        store.save(run)
        target = self._settings.save_engine
        if target is not None and run.build is not None and _is_ok(run):
            try:
                shutil.copyfile(run.build.engine, target)
            except OSError as problem:
                self._fail(UsageError(f"cannot write {target}", why=str(problem)))
        return kept_texts(run)

    def _present(self, run: Run, texts: KeptTexts) -> None:
        from enginescope.trtexec.files import exported, raw_files
        from enginescope.trtexec.report import run_lines

        say(run_lines(run, self._settings, texts))
        if not _is_ok(run):
            self._is_well = False
            return
        for path, content in exported(self._settings):
            self._write(path, partial(content, run, texts))
        if self._settings.reporting.raw and not self._settings.skip_inference:
            for name, data in raw_files(_fed(run), run.answers):
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
        from enginescope.probe.nvml import probe_device, probe_devices
        from enginescope.trtexec.device_lines import device_lines

        index = int(self._settings.options.get("device", "0"))
        say(device_lines(probe_devices(), probe_device(index), index, self._version))

    def _fail(self, problem: EnginescopeError) -> None:
        from enginescope.trtexec.log import error

        hint = error(f"  try: {problem.hint}") if problem.hint else ()
        say((*error(str(problem)), *hint))
        self._is_well = False


def say(lines: Iterable[Line]) -> None:
    """Print messages: warnings and errors on standard error, the others on standard output."""
    from enginescope.trtexec.log import printed

    for line in lines:
        stream = sys.stdout
        if line.level in "WE":
            sys.stdout.flush()  # so that the order holds where both go to one file
            stream = sys.stderr
        print(printed(line, datetime.now()), file=stream)  # noqa: DTZ005 - local, as trtexec's
    sys.stdout.flush()


def _installed(arguments: tuple[str, ...]) -> Version | None:
    """Return the version of the TensorRT in use: of the runtime asked for, else of the fullest."""
    from enginescope.backends.tensorrt.libraries import installed_version
    from enginescope.trtexec.version import parse_version

    asked = [one.partition("=")[2] for one in arguments if one.startswith("--useRuntime=")]
    runtime = asked[-1] if asked and asked[-1] in ("lean", "dispatch") else None
    text = installed_version(runtime)
    return parse_version(text) if text else None


def _store(settings: Settings) -> Store:
    from enginescope.store.archive import Store
    from enginescope.store.location import parse_place

    given = settings.arguments.store
    return writable(Store(parse_place(given) if given else None))


def _job(settings: Settings) -> Job:
    """Return the job, once it is certain that this machine can try it.

    Raises
    ------
    UsageError
        A file is not there, or an option is not the backend's.
    MissingDependencyError
        The CUDA runtime or a GPU is not there.
    """
    from enginescope.backends.registry import load_backend
    from enginescope.runner.demands import check_demands
    from enginescope.runner.jobs import subject_of
    from enginescope.trtexec.jobs import job_of

    subject = subject_of(Path(settings.model))
    kind = "engine" if settings.load_engine else "onnx"
    job = job_of(settings, msgspec.structs.replace(subject, kind=kind))
    load_backend(job.backend.name).check(job.backend)
    check_demands(job.backend, job.workload.mode)
    return job


def _check_files(settings: Settings) -> None:
    """Raise `UsageError` if a file cannot be read or written: better known at once."""
    from enginescope.trtexec.files import written_paths

    for one in settings.files:
        if not Path(one.path).is_file():
            raise UsageError(f"--loadInputs: {one.name}", why=f"there is no file {one.path}")
    check_outputs(written_paths(settings), [settings.model, *(one.path for one in settings.files)])
    for path in written_paths(settings):
        folder = Path(path).resolve().parent
        if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            why = "it is a folder" if Path(path).is_dir() else f"{folder} is no folder to write to"
            raise UsageError(f"cannot write {path}", why=why)


def _fed(run: Run) -> tuple[TensorValues, ...]:
    """Return the values of the inputs: those of its files, or the same random ones again."""
    from enginescope.backends.base import InputSpec
    from enginescope.model.tensor_values import TensorValues
    from enginescope.runner.inputs import make_feeds

    specs = tuple(
        InputSpec(name=one.name, dtype=one.dtype, shape=one.shape or (), type_text=str(one.dtype))
        for one in run.inputs
    )
    # the batch was read off the inputs, and is not to be held against each of them
    feeds = make_feeds(specs, msgspec.structs.replace(run.job.workload, batch=None))
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


def _is_ok(run: Run) -> bool:
    return run.outcome.kind.value == "ok"


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
