"""The sampling process: asks a GPU again and again, beside the process that measures.

``python -m enginescope.probe.telemetry.worker ADDRESS PID INTERVAL_MS FILE`` samples until its
standard input ends, which it also does when the process that started it dies. The file gets one
line of JSON for the GPU and one for each sample, as they come: what was sampled stays, whatever
happens then.
"""

import select
import sys
import time
from typing import BinaryIO

import msgspec

from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record
from enginescope.probe.telemetry.sampler import Sampler
from enginescope.probe.telemetry.sampler_sources import open_sampler
from enginescope.records.run.telemetry import SampledGpu

READY = b"ready\n"


class Line(Record, frozen=True, kw_only=True):
    """A line of the file: the GPU, a sample, or why there are none.

    Attributes:
        at_ns: When the sample was taken, on the host's monotonic clock.
    """

    gpu: SampledGpu | None = None
    at_ns: int | None = None
    values: dict[str, float | None] = {}  # noqa: RUF012 - msgspec copies empty defaults
    why_not: str | None = None


def main(arguments: list[str]) -> int:
    """Sample until standard input ends."""
    address, pid, interval_ms, path = arguments
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123 - unbuffered
        try:
            sampler = open_sampler(address)
        except EnginescopeError as error:
            _write(file, Line(why_not=str(error)))
            return 1
        _write(file, Line(gpu=sampler.gpu))
        try:
            _sample_until_told(sampler, int(pid), float(interval_ms) / 1e3, file)
        finally:
            sampler.close()
    return 0


def _sample_until_told(sampler: Sampler, pid: int, interval_s: float, file: BinaryIO) -> None:
    due = time.monotonic()
    told, ready = False, False
    while True:
        _write(file, Line(at_ns=time.monotonic_ns(), values=dict(sampler.sample(pid))))
        if told:  # the last sample is after the end of what is looked at
            return
        if not ready:
            sys.stdout.buffer.write(READY)
            sys.stdout.buffer.flush()
            ready = True
        # a sample that took longer than the interval does not make the next ones hurry
        due = max(due + interval_s, time.monotonic())
        told = bool(select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0])


def _write(file: BinaryIO, line: Line) -> None:
    file.write(msgspec.json.encode(line) + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
