"""Run-to-run variation: noise of processes, two states of processes, and sessions.

A thread pool, a memory layout or a clock that settles at the start gives a process one of two
levels. Rounds pair processes at random, so that a difference of eight rounds can be how the states
fell. So few processes tell the distance of the states and not how often each is taken.

All processes of a session share the temperature of the day, the load of the neighbors and the
clocks. Their scatter does not show this shared part, so a comparison of two sessions needs it from
elsewhere: from earlier sessions of the same job.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np

from enginescope.judge.comparison.change_points import change_points
from enginescope.judge.comparison.hodges_lehmann import paired_shift
from enginescope.judge.comparison.looks import FLOOR_ROUNDS, LOOK_CONFIDENCE
from enginescope.judge.comparison.ratio import decide
from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import student_quantile
from enginescope.judge.stats.series import as_series
from enginescope.judge.units import format_significant
from enginescope.judge.verdict import RatioEstimate, Reason, VerdictKind

#: Comparisons drawn for one figure; their 80th percentile is uncertain by some 3 % of itself.
_DRAWS = 400
#: Up to so many rounds are drawn; of more, the width falls with the square root of their number.
_MOST_DRAWN = 60
#: Share of the comparisons that would find the difference.
POWER = 0.8


def scatter_of(medians: Sequence[float]) -> float:
    """Return half the width of the 95 % interval in which logarithms of medians lie.

    Two processes differ by √2 times as much or less in 95 of 100 cases, which is what it is taken
    from: the 95th percentile of the differences of all pairs, whatever their distribution.

    Args:
        medians: One a process, all of the same work; at least two, above 0.
    """
    series = as_series(medians, name="medians")
    if series.size < 2 or (series <= 0).any():
        raise UsageError("medians", why="run-to-run variation needs two or more values above 0")
    first, second = np.triu_indices(series.size, k=1)
    logs = np.log(series)
    apart = np.abs(logs[first] - logs[second])
    return float(np.quantile(apart, 0.95)) / math.sqrt(2)


def exceeds_scatter(medians: Sequence[float], sd: float) -> bool:
    """Whether processes scatter by more than a standard deviation, with an error rate of 5 %.

    The sum of squares against the 95th percentile of chi-squared, by Wilson and Hilferty's cube
    (1931, *The distribution of chi-square*).

    Args:
        medians: One a process, all of the same work; at least two, above 0.
        sd: Of their logarithms, above 0.
    """
    series = np.log(as_series(medians, name="medians", at_least=2))
    freedom = series.size - 1
    part = 2 / (9 * freedom)
    most = freedom * (1 - part + NormalDist().inv_cdf(0.95) * math.sqrt(part)) ** 3
    return bool(((series - series.mean()) ** 2).sum() > most * sd**2)


def smallest_difference(differences: Any, rounds: int) -> float | None:
    """Return the difference that a comparison of `rounds` would find in four of five cases.

    Rounds are drawn from those seen, each with either sign, since both sides did the same work; a
    shift is found where the interval of the drawn ones, moved by it, leaves out 0.

    Args:
        differences: Of the logarithms of both sides' medians, one a round.

    Returns:
        On the logarithmic scale; ``None`` where so few rounds have no interval.
    """
    series = as_series(differences, name="differences")
    drawn = min(rounds, _MOST_DRAWN)
    draw = np.random.default_rng(0)
    reaches = []
    for _ in range(_DRAWS):
        some = draw.choice(series, drawn) * draw.choice((-1.0, 1.0), drawn)
        low = paired_shift(some, confidence=LOOK_CONFIDENCE).low
        if low is None:
            return None
        reaches.append(-low)
    return float(np.quantile(reaches, POWER)) * math.sqrt(drawn / rounds)


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
    pairs = (pair for values in logs for pair in combinations(values, 2))
    apart = [float(abs(a - b)) for a, b in pairs]
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
    ends = estimate.ratio * low, estimate.ratio * high
    widened = Interval(low=ends[0], high=ends[1], confidence=interval.confidence)
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
