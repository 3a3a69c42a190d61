"""Run-to-run variation between sessions, and the interval of a ratio that allows for it.

All processes of a session share the temperature of the day, the load of the neighbors and the
clocks. Their scatter does not show this shared part, so a comparison of two sessions needs it from
elsewhere: from earlier sessions of the same job.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from enginescope.judge.comparison.change_points import change_points
from enginescope.judge.comparison.ratio import decide
from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.judge.verdict import RatioEstimate, VerdictKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionShift:
    """Variation between sessions that a comparison of two sides allows for.

    Attributes:
        sd: Standard deviation between sessions of the same work, in logarithms.
        sessions: Number of sessions that `sd` was estimated from.
        weight: Root of the summed squares of how the two sides' shares of each session differ: 0
            where both were measured in the same sessions, √2 where each has a session of its own.
        freedom: Degrees of freedom of `sd`.
    """

    sd: float
    sessions: int
    weight: float
    freedom: int

    @property
    def is_assumed(self) -> bool:
        """Whether no earlier session shows how sessions differ."""
        return self.freedom == ASSUMED_FREEDOM


#: Standard deviation between sessions as far as nothing is known of it.
ASSUMED_SD = 0.01
#: What the assumption counts for: as much as two sessions that differ so, the least that there is.
ASSUMED_FREEDOM = 1
#: Lasting changes of level up to this are part of the variation, in percent.
_LASTING_PCT = 2.0
#: Median of the absolute difference of two values, divided by their standard deviation.
_MEDIAN_DIFFERENCE = math.sqrt(2) * NormalDist().inv_cdf(0.75)


def session_shift(
    sessions: Sequence[Sequence[float]], weight: float, *, assumed_sd: float = ASSUMED_SD
) -> SessionShift:
    """Estimate the standard deviation between sessions from the processes of earlier ones.

    The moment estimate of a random effect: the variance of the session levels about the level of
    their stretch, minus what the scatter of so many processes contributes. Lasting changes of level
    cut the series into stretches, so that a change of the code is not taken for variation.

    The assumption and the estimate are averaged by their degrees of freedom, as a scaled inverse χ²
    prior and its data are (Smyth 2004, *Linear models and empirical Bayes methods*): without
    earlier sessions the assumption stands alone, and Student's t with one degree of freedom allows
    for sessions that differ six times as much.

    Args:
        sessions: The oldest first; in each, the value of every process, above 0.
        weight: Distance between the two sides' shares of sessions, as `SessionShift` has it.
        assumed_sd: On the logarithmic scale.
    """
    logs = [np.log(np.asarray(values, dtype=float)) for values in sessions]
    levels = np.array([float(np.median(values)) for values in logs])
    changes = change_points(np.exp(levels), threshold_pct=_LASTING_PCT) if levels.size else ()
    stretches = np.split(levels, [change.at for change in changes])
    freedom = levels.size - len(stretches)
    variance = 0.0
    if freedom > 0:
        squares = sum(float(((part - part.mean()) ** 2).sum()) for part in stretches)
        share = float(np.mean([1 / values.size for values in logs]))
        variance = max(squares / freedom - _process_variance(logs) * share, 0.0)
    known = freedom + ASSUMED_FREEDOM
    return SessionShift(
        sd=math.sqrt((ASSUMED_FREEDOM * assumed_sd**2 + freedom * variance) / known),
        sessions=levels.size,
        weight=weight,
        freedom=known,
    )


def _process_variance(logs: Sequence[Any]) -> float:
    """Return the variance of processes within sessions, unmoved by a few disturbed ones."""
    apart = [
        float(abs(values[i] - values[j]))
        for values in logs
        for i in range(len(values))
        for j in range(i)
    ]
    return (float(np.median(apart)) / _MEDIAN_DIFFERENCE) ** 2 if apart else 0.0


def allow_for_sessions(estimate: RatioEstimate, shift: SessionShift | None) -> RatioEstimate:
    """Return the estimate with its interval widened by the variation between sessions.

    Both reaches add in squares on the logarithmic scale (Zou and Donner 2008, *Construction of
    confidence limits about effect measures*).
    """
    interval = estimate.interval
    if shift is None or interval is None or shift.sd * shift.weight == 0:
        return estimate
    quantile = student_quantile((1 + interval.confidence) / 2, shift.freedom)
    reach = quantile * shift.sd * shift.weight
    low = math.exp(-math.hypot(math.log(estimate.ratio / interval.low), reach))
    high = math.exp(math.hypot(math.log(interval.high / estimate.ratio), reach))
    widened = Interval(
        low=estimate.ratio * low, high=estimate.ratio * high, confidence=interval.confidence
    )
    return replace(estimate, interval=widened)


def is_open_for_sessions(
    estimate: RatioEstimate, shift: SessionShift | None, threshold_pct: float
) -> bool:
    """Whether sessions alone leave it open, so that no number of processes would decide it."""
    if shift is None or estimate.interval is None:
        return False
    exact = replace(estimate.interval, low=estimate.ratio, high=estimate.ratio)
    known = allow_for_sessions(replace(estimate, interval=exact), shift)
    return decide(known, threshold_pct)[0] is VerdictKind.INCONCLUSIVE
