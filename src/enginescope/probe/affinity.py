"""Logical processors: which this process may use, which belong to one core."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.units import parse_ranges

_CPUS = Path("/sys/devices/system/cpu")


def usable_processors() -> tuple[int, ...] | None:
    """Return the logical processors that this process may use; ``None`` if the system hides it."""
    affinity = getattr(os, "sched_getaffinity", None)
    return tuple(sorted(affinity(0))) if affinity else None


def check_pinning(cores: Iterable[int]) -> None:
    """Raise a `UsageError` that names the usable ones if not all of `cores` can be used."""
    usable = usable_processors()
    if usable is None:
        raise UsageError("--pin", why="this system pins no process to processors")
    missing = sorted(set(cores) - set(usable))
    if missing:
        noun = "core" if len(missing) == 1 else "cores"
        raise UsageError(
            f"--pin: no {noun} {ranges_text(missing)} to use here",
            why="the machine has fewer, or this process is not allowed on all of them",
            hint=f"usable: {ranges_text(usable)}",
        )


@contextmanager
def children_pinned_to(cores: tuple[int, ...]) -> Iterator[None]:
    """In this block, processes that this thread starts run on `cores` alone; empty: as before.

    A child has the affinity of the thread that starts it from its first instruction on, so that
    libraries which count processors while they are imported count these.
    """
    if not cores:
        yield
        return
    check_pinning(cores)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def siblings(processor: int, cpus: Path = _CPUS) -> tuple[int, ...]:
    """Return the logical processors of the physical core that `processor` is on, itself included.

    Empty where the system does not say.
    """
    try:
        text = (cpus / f"cpu{processor}/topology/thread_siblings_list").read_text()
        return parse_ranges(text.strip())
    except (OSError, ValueError):
        return ()


def shared_cores(cores: Iterable[int], cpus: Path = _CPUS) -> tuple[tuple[int, ...], ...]:
    """Return the groups among `cores` that are threads of one physical core."""
    chosen = set(cores)
    groups = {tuple(sorted(chosen.intersection(siblings(one, cpus)))) for one in chosen}
    return tuple(sorted(group for group in groups if len(group) > 1))


def ranges_text(numbers: Iterable[int]) -> str:
    """Return numbers as ``0, 2…4``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        ", ".join(map(str, run)) if len(run) < 3 else f"{run[0]}…{run[-1]}" for run in runs
    )
