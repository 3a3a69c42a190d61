"""Options that say how much is asked of the GPU meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import DURATION_MS
from enginescope.core.errors import UsageError
from enginescope.model.telemetry_rule import TelemetryRule

if TYPE_CHECKING:
    from enginescope.model.job import Job

F = TypeVar("F", bound=Callable[..., Any])

#: Asking a GPU everything takes some milliseconds.
LEAST_INTERVAL_MS = 5.0

_OPTIONS = (
    click.option(
        "--telemetry/--no-telemetry",
        default=None,
        help="Power, energy, clocks, memory and temperature of the GPU, in a pass of their own; or "
        "not even its clock around the timed loop.",
    ),
    click.option(
        "--telemetry-time",
        type=DURATION_MS,
        help="How long that pass repeats the loop.  [default: 5s]",
    ),
    click.option(
        "--gpu-sample-interval",
        type=DURATION_MS,
        help="Between two samples of that pass.  [default: 100ms]",
    ),
)


def telemetry_options(function: F) -> F:
    """Add what is sampled of the GPU."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def telemetry_of(options: dict[str, Any]) -> TelemetryRule:
    """Return the rule that the options describe.

    Raises
    ------
    UsageError
        Something of the pass without the pass, or an interval that no GPU can be asked in.
    """
    wanted, time_ms = options["telemetry"], options["telemetry_time"]
    interval_ms = options["gpu_sample_interval"]
    for given, option in ((time_ms, "--telemetry-time"), (interval_ms, "--gpu-sample-interval")):
        if given is not None and not wanted:
            raise UsageError(option, why="there is no pass to sample in", hint="--telemetry")
    if interval_ms is not None and interval_ms < LEAST_INTERVAL_MS:
        raise UsageError(
            f"--gpu-sample-interval {interval_ms:g}ms",
            why=f"asking a GPU takes some milliseconds; at least {LEAST_INTERVAL_MS:g}ms",
        )
    usual = TelemetryRule()
    return TelemetryRule(
        depth="full" if wanted else "clock" if wanted is None else "off",
        duration_ms=time_ms or usual.duration_ms,
        interval_ms=interval_ms or usual.interval_ms,
    )


def with_telemetry(jobs: tuple[Job, ...], options: dict[str, Any]) -> tuple[Job, ...]:
    """Return the jobs with the rule, and with the time that it takes unless that is bounded.

    Raises
    ------
    UsageError
        As `telemetry_of`.
    """
    from enginescope.runner.jobs import watched

    return watched(jobs, telemetry_of(options), is_bounded=bool(options["timeout"]))
