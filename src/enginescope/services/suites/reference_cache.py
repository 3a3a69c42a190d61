"""Reference outputs of a session: the reference runs once for all backends of a model.

So does one that fails: its outcome is kept like outputs.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from enginescope.core.errors import BackendError
from enginescope.core.sidecar import load_record, save_record
from enginescope.records.run.job import Job
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import Sample

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

        Raises:
            BackendError: The reference failed, now or for a former cell.
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
