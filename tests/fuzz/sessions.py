"""Workers as forks of this process, which has ONNX Runtime loaded: a fresh one takes a second each.

All else of a measurement is the real thing: a crash of ONNX Runtime ends the fork alone.
"""

import contextlib
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn, cast

import pytest

from enginescope.runner import isolate, worker

#: A model may ask for tensors of any size.
_MOST_BYTES = 4 << 30


class ForkedWorker:
    """The part of `subprocess.Popen` that `runner.isolate` uses."""

    stdin: IO[bytes] | None = None

    def __init__(self, arguments: list[str]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _work(arguments, writing)
        os.close(writing)
        self.stdout = os.fdopen(reading, "rb", buffering=0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
            time.sleep(0.005)
        return status


def _work(arguments: list[str], output: int) -> NoReturn:
    """Do in the fork what a new interpreter does; nothing returns into the fuzz."""
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os._exit(worker.main(arguments))
    except BaseException:  # noqa: BLE001 - as the interpreter ends
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _forked(job_file: Path, folder: Path, task: str, *, has_input: bool) -> subprocess.Popen[bytes]:
    assert not has_input
    arguments = [str(job_file), str(folder), str(time.monotonic_ns()), str(os.getpid()), task]
    return cast("subprocess.Popen[bytes]", ForkedWorker(arguments))


@contextlib.contextmanager
def forked_workers() -> Iterator[None]:
    """Have every worker be a fork of this process."""
    import onnxruntime  # noqa: F401 - loaded once, for all forks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolate, "_spawn", _forked)
        yield
