"""Reference outputs of a session: the reference runs once for all backends of a model.

So does one that fails: its outcome is kept like outputs. Cells that have no process in common share
them in a folder, which is of one session: a new one begins without outputs.
"""

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
#: Entries of a session on this machine: models follow one another, and each has two.
MOST_ENTRIES = 8


def reference_key(job: Job, samples: Sequence[Sample], versions: Mapping[str, str]) -> str:
    """Return the digest of everything that decides the outputs of a reference."""
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


class ReferenceCache:
    """Reference outputs of a session, for threads of this process and for other machines.

    The session makes `folder`; each entry is a folder that is renamed into it when complete. So
    many of those that this process used last are kept at `most`; ``None``: all.
    """

    def __init__(self, folder: Path, most: int | None = None) -> None:
        self._folder, self._most = folder, most
        self._used: dict[str, None] = {}
        self._lock = threading.Lock()

    def once(
        self, job: Job, samples: Sequence[Sample], outputs: Path, run: Callable[[], Run]
    ) -> Run:
        """Return the run of a reference, with its outputs in a folder; `run` it if none is kept.

        A cell waits for the thread or machine that runs the same reference. The system drops the
        lock of a process that dies. Where the file system has no locks, each cell runs it.
        """
        # machines with other versions have another reference
        key = reference_key(job, samples, versions())
        with self._locked(key):
            home = self._folder / key
            known = _loaded(home, outputs)
            if known is None:
                try:
                    known = run()
                except BackendError as error:
                    self._keep(home, partial(_save_failure, error))
                    raise
                self._keep(home, partial(_save, known, outputs))
            self._note_used(key)
            return known

    def _note_used(self, key: str) -> None:
        with self._lock:
            self._used.pop(key, None)
            self._used[key] = None
            while self._most is not None and len(self._used) > self._most:
                oldest = next(iter(self._used))
                del self._used[oldest]
                shutil.rmtree(self._folder / oldest, ignore_errors=True)

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


def shared_references(folder: str | None) -> ReferenceCache | None:
    """Return the references in a folder; ``None`` where this machine cannot write to it."""
    if folder is None or not Path(folder).is_dir() or not os.access(folder, os.W_OK):
        return None
    return ReferenceCache(Path(folder))


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
