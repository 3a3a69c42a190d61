"""Options that ask something of the machine while jobs run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginescope.cli.options import Parsed, note, parse_span_ms
from enginescope.core.errors import UsageError
from enginescope.model.conditions import Conditions, Cooldown
from enginescope.probe.affinity import check_pinning, parse_ranges

if TYPE_CHECKING:
    from enginescope.model.job import Job

F = TypeVar("F", bound=Callable[..., Any])

_LOCK_CLOCKS = "--lock-clocks"
_CLOCK = re.compile(r"(base|max)|([1-9]\d{0,4})(?:\s*mhz)?", re.IGNORECASE)
_COOLDOWN = re.compile(r"(\d+(?:\.\d+)?)\s*°?c?(?:,(.+))?", re.IGNORECASE)
#: Warmer than any GPU lets itself become.
_WARMEST_C = 120.0


def parse_clock(text: str) -> int | str:
    """Return ``base``, ``max``, or MHz."""
    found = _CLOCK.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is no clock", hint="base, max, or MHz: 1305")
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
        raise UsageError(f"{text!r} is no list of cores", hint="as in 0,1 or 0,2-4") from None


_OPTIONS = (
    click.option(
        _LOCK_CLOCKS,
        "lock_clocks",
        type=Parsed("[base|max|MHZ]", parse_clock),
        help="Hold the GPU's clocks while jobs run, and reset them after; base where nothing "
        "follows. Needs root.",
    ),
    click.option(
        "--cooldown",
        type=Parsed("TEMP[,LIMIT]", parse_cooldown),
        help="Wait before each job until the GPU is at TEMP °C, at most LIMIT (3min).",
    ),
    click.option(
        "--pin", type=Parsed("CORES", parse_pin), help="Cores that jobs may run on: 0,1 or 0,2-4."
    ),
)


def machine_options(function: F) -> F:
    """Add what is asked of the machine."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def with_clock_named(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which ``--lock-clocks`` has a value, so that none is taken for one."""
    found = list(arguments)
    for at, one in enumerate(found):
        follows = found[at + 1] if at + 1 < len(found) else ""
        if one == _LOCK_CLOCKS and not _CLOCK.fullmatch(follows):
            found[at] = f"{_LOCK_CLOCKS}=base"
    return found


def on_machine(jobs: tuple[Job, ...], options: dict[str, Any]) -> tuple[Job, ...]:
    """Return the jobs with what the options ask of the machine.

    Raises
    ------
    UsageError
        The machine cannot do it.
    """
    from msgspec.structs import replace

    pinned, cooldown = options["pin"] or (), options["cooldown"]
    if pinned:
        check_pinning(pinned)
    if cooldown is not None:
        _check_thermometer(jobs)
    if not pinned and cooldown is None:
        return jobs
    conditions = Conditions(pinned_cores=pinned, cooldown=cooldown)
    return tuple(replace(job, conditions=conditions) for job in jobs)


@contextmanager
def held_clocks(jobs: Sequence[Job], options: dict[str, Any], command: str) -> Iterator[None]:
    """In this block, hold the clocks of the GPUs that `jobs` use, if that is asked for.

    Raises
    ------
    UsageError
        There is no GPU, no such clock, or no right to it.
    """
    clock = options["lock_clocks"]
    if clock is None:
        yield
        return
    from enginescope.cli.termination import ending_in_order
    from enginescope.runner.job_gpus import gpus_of
    from enginescope.runner.locked_clocks import locked_clocks

    gpus = gpus_of(jobs)
    if not gpus:
        raise UsageError(_LOCK_CLOCKS, why="no GPU of these jobs is seen", hint=_SEEN)
    with ending_in_order(), locked_clocks(gpus, clock, command=command, say=_say) as locks:
        if not options["as_json"]:
            for gpu, lock in locks.items():
                note(f"GPU {gpu}: {lock} until the jobs have ended")
        yield


_SEEN = "enginescope doctor lists what it sees"


def _check_thermometer(jobs: Sequence[Job]) -> None:
    from enginescope.probe.temperature import gpu_temperature_c
    from enginescope.runner.job_gpus import gpus_of

    gpus = gpus_of(jobs)
    if not gpus:
        raise UsageError("--cooldown", why="no GPU of these jobs is seen", hint=_SEEN)
    if all(gpu_temperature_c(gpu) is None for gpu in gpus):
        raise UsageError("--cooldown", why=f"{', '.join(gpus)} does not tell its temperature")


def _say(text: str) -> None:
    note(f"enginescope: {text}")
