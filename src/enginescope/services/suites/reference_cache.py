"""Reference outputs of a session: the reference runs once for all backends of a model.

So does one that fails: its outcome is kept like outputs.

Machines of a fleet share outputs in a folder, because their cells have no process in common. The
folder is of one session: a new one begins without outputs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from enginescope.core.errors import BackendError, FormatError, UnsupportedError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.record import Record
from enginescope.core.sidecar import load_record, save_record
from enginescope.probe.environment import versions
from enginescope.records.run.job import Job
from enginescope.records.run.run import Outcome, Run
from enginescope.records.run.sample_set import Sample
from enginescope.runner.inputs.collect_outputs import EndedBadly

RUN, OUTPUTS = "run.json", "answers"
#: Entries at a time. Models follow one another, and each has two: bindings and outputs.
_CAPACITY = 8


class References(Protocol):
    """Reference outputs of former cells."""

    def once(
        self, job: Job, samples: Sequence[Sample], outputs: Path, run: Callable[[], Run]
    ) -> Run:
        """Return the run of a reference, with its outputs in a folder; run it if none is kept."""


class ReferenceCache:
    """Least recently used cache of reference outputs, in an empty folder of the session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._keys: list[str] = []
        self._running: dict[str, threading.Lock] = {}
        self._failed: dict[str, BackendError] = {}

    def once(
        self, job: Job, samples: Sequence[Sample], outputs: Path, run: Callable[[], Run]
    ) -> Run:
        """Return the run of a reference, with its outputs in a folder; run it if none is kept.

        Cells that run side by side wait for the one that runs the reference of both.

        Args:
            run: Runs the reference, and writes its outputs into `outputs`.
        """
        key = reference_key(job, samples)
        with self._lock:
            running = self._running.setdefault(key, threading.Lock())
        with running:
            failed = self._failed.get(key)
            if failed is not None:
                raise failed.with_traceback(None)
            known = self.load(job, samples, outputs)
            if known is not None:
                return known
            try:
                new = run()
            except BackendError as error:
                self._failed[key] = error
                raise
            self.save(job, samples, new, outputs)
            return new

    def load(self, job: Job, samples: Sequence[Sample], into: Path) -> Run | None:
        """Copy the outputs of the same job and samples into a folder, and return their run."""
        key = reference_key(job, samples)
        with self._lock:
            if key not in self._keys:
                return None
            self._keys.remove(key)
            self._keys.append(key)  # the most recently used entry is removed last
            home = self._folder / key
            if (home / OUTPUTS).is_dir():
                shutil.copytree(home / OUTPUTS, into, dirs_exist_ok=True)
            return load_record(Run, home, RUN)

    def save(self, job: Job, samples: Sequence[Sample], run: Run, outputs: Path) -> None:
        """Store the outputs of a reference; remove the least recently used entry if full."""
        key = reference_key(job, samples)
        with self._lock:
            if key in self._keys:
                return
            while len(self._keys) >= _CAPACITY:
                shutil.rmtree(self._folder / self._keys.pop(0), ignore_errors=True)
            home = self._folder / key
            home.mkdir()
            if outputs.is_dir():
                shutil.copytree(outputs, home / OUTPUTS)
            save_record(run, home, RUN)
            self._keys.append(key)


def reference_key(
    job: Job, samples: Sequence[Sample], versions: Mapping[str, str] | None = None
) -> str:
    """Return the digest of everything that decides the outputs of a reference.

    Args:
        versions: Of the Python that runs it, where another may have run it before.
    """
    files = [
        (str(file), file.stat().st_size, file.stat().st_mtime_ns)
        for sample in samples
        if sample.data_set is not None
        for file in sorted(Path(sample.data_set).iterdir())
    ]
    content = [job.subject, job.backend, job.workload, job.limits, tuple(samples), files, versions]
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:32]


_FAILURE = "failure.json"


class _Failure(Record, frozen=True, kw_only=True):
    """How a reference failed: what the error says, and the outcome of its process."""

    what: str
    why: str | None
    hint: str | None
    is_unsupported: bool
    outcome: Outcome | None

    def error(self) -> BackendError:
        kind = UnsupportedError if self.is_unsupported else BackendError
        error = kind(self.what, why=self.why, hint=self.hint)
        if self.outcome is not None:
            error.__cause__ = EndedBadly(self.outcome)
        return error


class SharedReferences:
    """Reference outputs of the cells of a fleet.

    Args:
        folder: Made by the session; each entry is a folder that is renamed into it when complete.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def once(
        self, job: Job, samples: Sequence[Sample], outputs: Path, run: Callable[[], Run]
    ) -> Run:
        """Return the run of a reference, with its outputs in a folder; run it if none is kept.

        A cell waits for the machine that runs the same reference. The system drops the lock of a
        process that dies. Where the file system has no locks, each cell runs the reference.

        Args:
            run: Runs the reference, and writes its outputs into `outputs`.
        """
        # machines with other versions have another reference
        key = reference_key(job, samples, versions())
        with self._locked(key):
            home = self._folder / key
            known = _loaded(home, outputs)
            if known is not None:
                return known
            try:
                new = run()
            except BackendError as error:
                self._keep(home, partial(_save_failure, error))
                raise
            self._keep(home, partial(_save, new, outputs))
            return new

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        try:
            file = (self._folder / f".{key}.lock").open("w")
        except OSError:  # the session has ended and removed the folder
            yield
            return
        with file:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _keep(self, home: Path, write: Callable[[Path], None]) -> None:
        """Write an entry and give it its name; a full disk costs only the sharing."""
        entry = home.with_name(f".{secrets.token_hex(5)}")
        try:
            entry.mkdir()
            write(entry)
            entry.rename(home)
        except OSError:
            shutil.rmtree(entry, ignore_errors=True)


def shared_references(folder: str | None) -> SharedReferences | None:
    """Return the references in a folder; ``None`` where this machine cannot write to it."""
    if folder is None or not Path(folder).is_dir() or not os.access(folder, os.W_OK):
        return None
    return SharedReferences(Path(folder))


def _loaded(home: Path, outputs: Path) -> Run | None:
    """Return the run of an entry, its outputs copied; ``None``: there is none, or it is damaged."""
    failure = home / _FAILURE
    try:
        if failure.is_file():
            raise decode(read_bytes(failure), _Failure, source=str(failure)).error()
        run = load_record(Run, home, RUN)
        if (home / OUTPUTS).is_dir():
            shutil.copytree(home / OUTPUTS, outputs, dirs_exist_ok=True)
    except (FormatError, OSError):
        return None
    return run


def _save(run: Run, outputs: Path, entry: Path) -> None:
    if outputs.is_dir():
        shutil.copytree(outputs, entry / OUTPUTS)
    save_record(run, entry, RUN)


def _save_failure(error: BackendError, entry: Path) -> None:
    cause = error.__cause__
    failure = _Failure(
        what=error.what,
        why=error.why,
        hint=error.hint,
        is_unsupported=isinstance(error, UnsupportedError),
        outcome=cause.outcome if isinstance(cause, EndedBadly) else None,
    )
    write_atomic(entry / _FAILURE, encode(failure))
