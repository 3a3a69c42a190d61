"""Search the highest rate that meets an objective."""

from __future__ import annotations

import math
from collections.abc import Callable

from enginescope.core.record import Record
from enginescope.records.verdict.load import LoadKind, LoadStep
from enginescope.services.load.request import MOST_PER_S

#: Rates that a search tries at most.
MOST_RATES = 16
#: Below this share of the first rate no further rate is tried.
_LEAST_SHARE = 1 / 16
_UP = 2.0


class Found(Record, frozen=True, kw_only=True):
    """What a search came to; rates in queries per second.

    Attributes:
        skipped: Rate that there was no time for, with which it ended.
    """

    steps: tuple[LoadStep, ...]
    highest_met: float | None
    lowest_missed: float | None
    inconclusive: tuple[float, ...]
    skipped: float | None = None


def search_highest(
    first: float,
    measure: Callable[[float], LoadStep | None],
    resolution_pct: float,
    has_time: Callable[[float], bool] = lambda _rate: True,
) -> Found:
    """Return the highest rate that meets the objective, found by bisection of the ratio.

    It is assumed that a higher rate never has lower latencies. Each step below is at another rate.

    Args:
        first: Rate to begin with.
        measure: Returns the verdict at a rate; ``None``: it was interrupted.
        resolution_pct: The search ends when the lowest rate that is not met is this close.
        has_time: Whether there is time for a rate; the first one is always measured.
    """
    steps: list[LoadStep] = []
    met: float | None = None
    not_met: float | None = None
    rate, skipped = first, None
    for _ in range(MOST_RATES):
        if steps and not has_time(rate):
            skipped = rate
            break
        step = measure(rate)
        if step is None:
            skipped = rate
            break
        steps.append(step)
        if step.kind is LoadKind.MET:
            met = rate
        else:
            not_met = rate
        if not_met is None:
            rate *= _UP
            if rate > MOST_PER_S:
                break
        elif met is None:
            rate /= 2
            if rate < first * _LEAST_SHARE:
                break
        elif not_met / met <= 1 + resolution_pct / 100:
            break
        else:
            rate = math.sqrt(met * not_met)
    return Found(
        steps=tuple(steps),
        highest_met=met,
        lowest_missed=min(_rates(steps, LoadKind.MISSED), default=None),
        inconclusive=tuple(sorted(_rates(steps, LoadKind.INCONCLUSIVE))),
        skipped=skipped,
    )


def _rates(steps: list[LoadStep], kind: LoadKind) -> list[float]:
    return [step.rate_per_s for step in steps if step.kind is kind and step.rate_per_s is not None]
