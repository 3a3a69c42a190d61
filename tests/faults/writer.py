"""Processes that save, tag and delete runs, and print each only once that is done.

``python -m tests.faults.writer`` starts one for each line ``PLACE SEED PIPE`` of its input: a copy
of itself, so that hundreds need no time to import. Each goes on until it is killed.
"""

import hashlib
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from enginescope.core.errors import StoreError
from enginescope.judge.samples import Samples, frozen
from enginescope.records.run.run import Artifact, Run
from enginescope.store.archive import Store
from enginescope.store.location import parse_place
from tests.faults.ledger import digest_of
from tests.store.stored_runs import a_run

#: Between two works: most of the time a writer writes.
_PAUSE_S = 0.02
_MOST_SAMPLES, _MOST_FILE_BYTES = 20_000, 400_000


def drawn_run(chance: random.Random, **more: object) -> Run:
    """A run with a random number of samples."""
    values = np.random.default_rng(chance.getrandbits(32)).gamma(
        9, 0.2, chance.randint(1, _MOST_SAMPLES)
    )
    samples = Samples(metric="latency", values_ms=frozen(values), warmup_ms=frozen([3.0]))
    run_id = f"{chance.getrandbits(48):012x}"
    return a_run(f"m{chance.randrange(9)}.onnx", id=run_id, samples=(samples,), **more)


class Writer:
    def __init__(self, store: Store, chance: random.Random, log: Path) -> None:
        self._store, self._chance, self._log = store, chance, log
        self._mine: list[str] = []

    def work(self) -> None:
        """Do one thing; what a store refuses is not printed."""
        draw = self._chance.random()
        try:
            if draw < 0.7 or len(self._mine) < 3:
                self._save()
            elif draw < 0.9:
                self._tag()
            else:
                self._delete()
        except StoreError:  # refused, and so not printed
            time.sleep(_PAUSE_S)

    def _save(self) -> None:
        data = self._chance.randbytes(self._chance.randint(0, _MOST_FILE_BYTES))
        self._log.write_bytes(data)
        run = drawn_run(self._chance, artifacts=(Artifact(path=str(self._log), kind="log"),))
        self._store.save(run)
        print("saved", run.id, digest_of(run), hashlib.sha256(data).hexdigest(), flush=True)
        self._mine.append(run.id)

    def _tag(self) -> None:
        run_id, tag = self._chance.choice(self._mine), f"t{self._chance.randrange(99)}"
        self._store.tag(run_id, tag)
        print("tagged", run_id, tag, flush=True)

    def _delete(self) -> None:
        run_id = self._mine.pop(self._chance.randrange(len(self._mine)))
        print("deleting", run_id, flush=True)
        self._store.delete(run_id)
        print("deleted", run_id, flush=True)


def work(place: str, seed: str, pipe: str) -> None:
    """Work on a store until killed; print into a named pipe."""
    os.dup2(os.open(pipe, os.O_WRONLY), sys.stdout.fileno())
    with tempfile.TemporaryDirectory(dir=Path(pipe).parent) as folder:
        writer = Writer(Store(parse_place(place)), random.Random(seed), Path(folder) / "build.log")
        chance = random.Random(seed)
        while True:
            writer.work()
            time.sleep(chance.random() * _PAUSE_S)


def main() -> None:
    """Start a process for each line of standard input, and print its id."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                work(*line.split())
            finally:
                traceback.print_exc()
                os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    main()
