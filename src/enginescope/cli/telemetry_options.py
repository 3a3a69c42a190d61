"""Options that say how much is asked of the GPU meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import DURATION_MS
from enginescope.core.errors import UsageError
from enginescope.records.run.telemetry_rule import TelemetryRule

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])

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

    Raises:
        UsageError: An option of the pass without the pass.
    """
    wanted, time_ms = options["telemetry"], options["telemetry_time"]
    interval_ms = options["gpu_sample_interval"]
    for given, option in ((time_ms, "--telemetry-time"), (interval_ms, "--gpu-sample-interval")):
        if given is not None and not wanted:
            raise UsageError(option, why="there is no pass to sample in", hint="--telemetry")
    usual = TelemetryRule()
    return TelemetryRule(
        depth="full" if wanted else "clock" if wanted is None else "off",
        duration_ms=time_ms or usual.duration_ms,
        interval_ms=interval_ms or usual.interval_ms,
    )
