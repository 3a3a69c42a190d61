"""Whether processes of the same work keep to one of two states for their lives.

A thread pool, a memory layout or a clock that settles at the start gives a process one of two
levels. Rounds pair processes at random, so that a difference of eight rounds can be how the states
fell. So few processes tell the distance of the states and not how often each is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enginescope.judge.comparison.ratio import FLOOR_ROUNDS, decide
from enginescope.judge.stats.series import as_series
from enginescope.judge.units import format_significant
from enginescope.judge.verdict import RatioEstimate, Reason, VerdictKind

#: The states lie so many standard deviations of either apart. Eight processes of one normal level
#: look like it in one of nine cases, sixteen in one of a hundred: it costs them eight rounds more.
_APART = 4.0
#: A state that a single process was seen in may be a disturbance.
_LEAST_PROCESSES = 2
_FEWEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStates:
    """Two levels of the processes of one side.

    Attributes:
        gap_pct: From the median of the lower level to that of the higher.
        low, high: Processes at either.
    """

    gap_pct: float
    low: int
    high: int


def process_states(medians: Sequence[float], threshold_pct: float) -> ProcessStates | None:
    """Return the two levels of processes, or ``None`` where they have one.

    Args:
        medians: One a process, all of the same work; above 0.
        threshold_pct: States that are nearer to each other do not matter.
    """
    if len(medians) < _FEWEST:
        return None
    logs = np.sort(np.log(as_series(medians, name="medians")))
    cuts = np.arange(_LEAST_PROCESSES, logs.size - _LEAST_PROCESSES + 1)
    cut = int(cuts[np.argmax(logs[cuts] - logs[cuts - 1])])
    low, high = logs[:cut], logs[cut:]
    apart = float(np.median(high) - np.median(low))
    within = float(np.sqrt((low.var() * low.size + high.var() * high.size) / (logs.size - 2)))
    if apart < np.log1p(threshold_pct / 100) or apart < _APART * within:
        return None
    if logs[cut] - logs[cut - 1] < apart / 2:
        return None
    return ProcessStates(gap_pct=100 * float(np.expm1(apart)), low=low.size, high=high.size)


def unsettled_states(
    sides: Sequence[Sequence[float]], ratio: float, threshold_pct: float
) -> ProcessStates | None:
    """Return the states of a side that may be what makes a difference, while processes are few.

    From `FLOOR_ROUNDS` on, rounds tell how often each state is taken.

    Args:
        sides: The medians of each side, one a round.
        ratio: Of the difference.
    """
    if len(sides[0]) >= FLOOR_ROUNDS:
        return None
    found = (process_states(medians, threshold_pct) for medians in sides)
    states = max(filter(None, found), key=lambda one: one.gap_pct, default=None)
    if states is None or abs(math.log(ratio)) > math.log1p(states.gap_pct / 100):
        return None
    return states


def decide_sides(
    estimate: RatioEstimate, sides: Sequence[Sequence[float]], threshold_pct: float
) -> tuple[VerdictKind, Reason, str | None]:
    """Return what may be said of B, why, and what the reason alone does not say.

    As `decide`, of processes whose medians are known: a difference that may be how the states of
    few processes fell is open.

    Args:
        sides: Medians of the processes of each side that `estimate` uses.
    """
    kind, reason = decide(estimate, threshold_pct)
    if kind is VerdictKind.INCONCLUSIVE:
        is_unstable = estimate.disturbed is not None and estimate.disturbed.unstable is not None
        return kind, Reason.UNSTABLE if is_unstable else reason, None
    if estimate.method != "rounds" or kind is VerdictKind.SAME:
        return kind, reason, None
    states = unsettled_states(sides, estimate.ratio, threshold_pct)
    if states is None:
        return kind, reason, None
    gap = f"{format_significant(states.gap_pct, 2)} % apart ({states.low} and {states.high})"
    detail = f"processes of one side run at one of two levels, {gap}"
    return VerdictKind.INCONCLUSIVE, Reason.PROCESS_STATES, detail
