"""A reference answers once for all backends of a model, while a suite is run."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.core.sidecar import load_record, save_record
from enginescope.model.job import Job
from enginescope.model.run import Run
from enginescope.model.sample_set import Sample

_RUN = "run.json"
_ANSWERS = "answers"
#: Kept at a time: models come one after another, and each asks twice, for bindings and answers.
_MOST = 8


class ReferenceAnswers:
    """Answers of references, in a folder that goes when the sitting ends.

    Parameters
    ----------
    folder : Path
        Empty.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: list[str] = []

    def given(self, job: Job, samples: Sequence[Sample], into: Path) -> Run | None:
        """Copy the answers that were given to the same questions, and return their run."""
        key = _key(job, samples)
        with self._lock:
            if key not in self._known:
                return None
            self._known.remove(key)
            self._known.append(key)  # asked for last, it goes last
            home = self._folder / key
            if (home / _ANSWERS).is_dir():
                shutil.copytree(home / _ANSWERS, into, dirs_exist_ok=True)
            return load_record(Run, home, _RUN)

    def keep(self, job: Job, samples: Sequence[Sample], run: Run, answers: Path) -> None:
        """Keep what a reference has answered; the oldest goes for it."""
        key = _key(job, samples)
        with self._lock:
            if key in self._known:
                return
            while len(self._known) >= _MOST:
                shutil.rmtree(self._folder / self._known.pop(0), ignore_errors=True)
            home = self._folder / key
            home.mkdir()
            if answers.is_dir():
                shutil.copytree(answers, home / _ANSWERS)
            save_record(run, home, _RUN)
            self._known.append(key)


def _key(job: Job, samples: Sequence[Sample]) -> str:
    files = [
        (str(one), one.stat().st_size, one.stat().st_mtime_ns)
        for sample in samples
        if sample.data_set is not None
        for one in sorted(Path(sample.data_set).iterdir())
    ]
    asked = [job.subject, job.backend, job.workload, job.limits, tuple(samples), files]
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:32]
