"""Options that ask something of the machine while jobs run.

Options that say how much is asked of the GPU meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from enginescope.cli.options import DURATION_MS, Parsed, add_options, option, parse_span_ms
from enginescope.core.errors import UsageError
from enginescope.core.units import parse_ranges
from enginescope.records.run.job import Conditions, Cooldown, TelemetryRule

_LOCK_CLOCKS = "--lock-clocks"
_CLOCK = re.compile(r"(base|max)|([1-9]\d{0,4})(?:\s*mhz)?", re.IGNORECASE)
_COOLDOWN = re.compile(r"(\d+(?:\.\d+)?)\s*°?c?(?:,(.+))?", re.IGNORECASE)
#: Warmer than any GPU lets itself become.
_WARMEST_C = 120.0


def parse_clock(text: str) -> int | str:
    """Return ``base``, ``max``, or MHz."""
    found = _CLOCK.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is not a clock", hint="base, max, or MHz: 1305")
    return found[1].lower() if found[1] else int(found[2])


def parse_cooldown(text: str) -> Cooldown:
    """Return ``60`` or ``60,2min``: degrees Celsius, and how long to wait at most."""
    found = _COOLDOWN.fullmatch(text.strip())
    if not found or not 0 < float(found[1]) <= _WARMEST_C:
        raise UsageError(f"{text!r} is not TEMP[,LIMIT]", hint="degrees Celsius: 60, or 60,2min")
    limit_s = Cooldown(temperature_c=0).limit_s
    if found[2]:
        limit_s = parse_span_ms(found[2]) / 1e3
    return Cooldown(temperature_c=float(found[1]), limit_s=limit_s)


def parse_pin(text: str) -> tuple[int, ...]:
    """Return ``0,2-4`` as numbers of logical processors."""
    try:
        return parse_ranges(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a list of cores", hint="as in 0,1 or 0,2-4") from None


#: Add what is asked of the machine.
machine_options = add_options(
    option(
        _LOCK_CLOCKS,
        "lock_clocks",
        type=Parsed("[base|max|MHZ]", parse_clock),
        help="Lock the GPU clocks while jobs run, and reset them after. Needs root.  "
        "[default: base]",
    ),
    option(
        "--cooldown",
        type=Parsed("TEMP[,LIMIT]", parse_cooldown),
        help=(
            "Wait before each job until the GPU cools to TEMP °C, at most LIMIT.  "
            "[default limit: 3min]"
        ),
    ),
    option("--pin", type=Parsed("CORES", parse_pin), help="Pin jobs to these cores: 0,1 or 0,2-4."),
)


def with_clock_named(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which ``--lock-clocks`` has a value, so that none is taken for one."""
    found = list(arguments)
    for at, one in enumerate(found):
        follows = found[at + 1] if at + 1 < len(found) else ""
        if one == _LOCK_CLOCKS and not _CLOCK.fullmatch(follows):
            found[at] = f"{_LOCK_CLOCKS}=base"
    return found


def conditions_of(options: dict[str, Any]) -> Conditions:
    """Return what the options ask of the machine while a job runs."""
    return Conditions(pinned_cores=options["pin"] or (), cooldown=options["cooldown"])


#: Add what is sampled of the GPU.
telemetry_options = add_options(
    option(
        "--telemetry/--no-telemetry",
        default=None,
        show_default=False,
        help="Record power, energy, clocks, memory and temperature of the GPU in a separate pass.",
    ),
    option(
        "--telemetry-time", type=DURATION_MS, help="Duration of the telemetry pass.  [default: 20s]"
    ),
    option(
        "--gpu-sample-interval",
        type=DURATION_MS,
        help="Time between two telemetry samples.  [default: 100ms]",
    ),
)


def telemetry_of(options: dict[str, Any]) -> TelemetryRule:
    """Return the rule that the options describe."""
    wanted, time_ms = options["telemetry"], options["telemetry_time"]
    interval_ms = options["gpu_sample_interval"]
    for given, flag in ((time_ms, "--telemetry-time"), (interval_ms, "--gpu-sample-interval")):
        if given is not None and not wanted:
            raise UsageError(flag, why="there is no telemetry pass", hint="--telemetry")
    usual = TelemetryRule()
    return TelemetryRule(
        depth="full" if wanted else "clock" if wanted is None else "off",
        duration_ms=time_ms or usual.duration_ms,
        interval_ms=interval_ms or usual.interval_ms,
    )
