"""Starts and stops the sampling process, and reads what it has left."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

from enginescope.core.errors import UnsupportedError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.samples import frozen
from enginescope.probe.telemetry.worker import Line
from enginescope.records.run.telemetry import CHANNELS, Channel, SampledGpu, Telemetry

#: Starting an interpreter and NVML takes tenths of a second; a machine under load, seconds.
START_S = 30.0
_END_S = 5.0


class Sampling:
    """A process that samples a GPU between ``with`` and its end.

    Args:
        address: The GPU's UUID, or its number in CUDA's count.
        interval_ms: Between two samples.

    Attributes:
        series: After the end: time on the host's monotonic clock, and every channel that was
            reported at least once; NaN where it was not.
    """

    def __init__(self, address: str, interval_ms: float) -> None:
        self.gpu: SampledGpu | None = None
        self.series: Telemetry | None = None
        self._folder = contextlib.ExitStack()
        self._arguments = [address, str(os.getpid()), str(interval_ms)]

    def __enter__(self) -> Sampling:
        """Start sampling, and wait for the first sample.

        Raises:
            UnsupportedError: The GPU cannot be asked; says why.
        """
        self._file = self._folder.enter_context(temporary_folder()) / "samples.jsonl"
        self._file.touch()
        worker = [*_python(), "-m", "enginescope.probe.telemetry.worker"]
        self._process = subprocess.Popen(
            [*worker, *self._arguments, str(self._file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        answered, _, _ = select.select([self._process.stdout], [], [], START_S)
        if answered and self._process.stdout.readline():
            return self
        self._end()
        why = self._read() or (
            f"the sampling process ended with status {self._process.returncode}"
            if answered
            else f"the sampling process gave nothing within {START_S:g} s"
        )
        self._folder.close()
        raise UnsupportedError("sampling the GPU", why=why)

    def __exit__(self, *_error: object) -> None:
        self._end()
        self._read()
        self._folder.close()

    def _end(self) -> None:
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:  # a driver that no longer answers
            process.kill()
            process.wait()

    def _read(self) -> str | None:
        """Take the series from the file; return why there is none."""
        lines = _lines(self._file)
        self.gpu = next((line.gpu for line in lines if line.gpu is not None), None)
        samples = {line.at_ns / 1e6: line.values for line in lines if line.at_ns is not None}
        if samples:
            self.series = series_of(list(samples), list(samples.values()))
        return next((line.why_not for line in lines if line.why_not), None)


def now_ms() -> float:
    """Return the time on the clock of the series."""
    return time.monotonic_ns() / 1e6


def series_of(times_ms: list[float], values: list[dict[str, float | None]]) -> Telemetry:
    """Return samples as a series; a channel that was never reported is left out."""
    found = {}
    for name in CHANNELS:
        row = [np.nan if (one := some.get(name)) is None else one for some in values]
        if not all(np.isnan(row)):
            found[name] = frozen(row)
    channels = tuple(Channel(name=name, values=array) for name, array in found.items())
    return Telemetry(time_ms=frozen(times_ms), channels=channels)


def _lines(file: Path) -> list[Line]:
    """Return the whole lines of a file; the last may have been cut off by a death."""
    found = []
    for text in file.read_bytes().splitlines():
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(text, type=Line))
    return found


def _python() -> list[str]:
    """Return how to start an interpreter that finds modules as this one does."""
    return [sys.executable, *(["-P"] if getattr(sys.flags, "safe_path", False) else [])]
