"""What ``lottery`` is asked for, and what it reports while it works."""

from __future__ import annotations

from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.services.measurement.jobs import MeasureRequest, check_bounds

#: Builds, and processes of each.
BUILDS, PROCESSES = 10, 3
#: Two builds do not show how builds vary; each has a letter of the alphabet as a side.
FEWEST_BUILDS, MOST_BUILDS = 3, 26
FEWEST_PROCESSES, MOST_PROCESSES = 2, 100
#: Twelve batches of two.
FEWEST_ITERATIONS = 24


class LotteryRequest(MeasureRequest, frozen=True, kw_only=True):
    """A model to build several times.

    Attributes:
        backend: By default the usual one of the model.
        processes: Of each build.
        timing_cache: Every build reads a copy of this file; without it, no build reads one.
        max_time_s: Builds and processes become fewer rather than take longer, down to the fewest.
        budget_s: Time for which the best numbers are given; by default what the lottery took.
    """

    model: Path
    backend: str | None = None
    builds: int = BUILDS
    processes: int = PROCESSES
    timing_cache: Path | None = None
    budget_s: float | None = None


def check_lottery_request(request: LotteryRequest) -> None:
    """Raise `UsageError` where a request contradicts itself, before anything is built."""
    check_bounds(
        ("builds", request.builds, FEWEST_BUILDS, MOST_BUILDS),
        ("processes", request.processes, FEWEST_PROCESSES, MOST_PROCESSES),
    )
    iterations = request.workload.stop.iterations
    if iterations is not None and iterations < FEWEST_ITERATIONS:
        raise UsageError(
            f"iterations: {iterations}",
            why=f"fewer than {FEWEST_ITERATIONS} do not show how iterations vary",
        )
    if request.model.suffix.lower() in ENGINE_SUFFIXES:
        raise UsageError(f"{request.model} is built already", hint="name its ONNX model")
    file = request.timing_cache
    if file is not None and not file.is_file():
        raise UsageError(
            f"timing cache {file}",
            why="there is no such file",
            hint=f"enginescope build {request.model} --timing-cache {file} makes it",
        )
