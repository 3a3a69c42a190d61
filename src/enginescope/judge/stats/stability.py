"""Derive warnings and notes from a series of samples, such as two levels of latency.

A rule is a function of `_Facts` that returns a notice or ``None``; adding one costs the function
and its line in `_RULES`.

Whether a series ends elsewhere than it began.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from enginescope.judge.notice import Notice
from enginescope.judge.samples import Array, Interval, Samples
from enginescope.judge.stats.autocorrelation import effective_samples, levels_of, quantile_interval
from enginescope.judge.stats.describe import LIMIT, outlier_scores
from enginescope.judge.stats.series import as_series, once_per_series, quantum
from enginescope.judge.stats.warmup import TOLERANCE
from enginescope.judge.units import format_ms, format_significant

BIMODAL_MIN_VALUES = 100
#: Each mode holds at least this share of the samples.
MIN_SHARE = 0.1
#: The density between the modes falls below this share of the lower one's.
VALLEY = 0.2
#: The modes lie at least this far apart, relative to the lower.
MIN_GAP = 0.005
_CELLS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Two levels of a series.

    Attributes:
        low, high: Median of the samples on either side of the valley, in their unit.
        valley: Where the density between them is least.
        share_high: Share of the samples beyond the valley, 0…1.
    """

    low: float
    high: float
    valley: float
    share_high: float


def two_modes(values: Any) -> Modes | None:
    """Return the two levels the samples keep to, or ``None`` where there is one.

    The outer 2.5 % on either side are left out, so that a few spikes make no mode. The rest
    is split in two where that leaves the least variance within (Otsu 1979), the parts' widths give
    the bandwidth of a kernel density, and between the parts' medians that density has to fall to a
    fifth of the lower of its two peaks. The bandwidth is never below the `quantum`: the steps of
    a clock are not modes.

    Args:
        values: Fewer than 100 show no modes.
    """
    ordered = np.sort(as_series(values))
    cut = ordered.size // 40
    middle = ordered[cut : ordered.size - cut]
    if ordered.size < BIMODAL_MIN_VALUES or middle[0] == middle[-1]:
        return None
    low, high = np.split(middle, [_split(middle)])
    centres = float(np.median(low)), float(np.median(high))
    width = _bandwidth(low, high, quantum(ordered))
    valley = _valley(middle, centres, width)
    if valley is None or centres[1] - centres[0] < MIN_GAP * abs(centres[0]):
        return None
    share = float(np.mean(ordered > valley))
    if not MIN_SHARE <= share <= 1 - MIN_SHARE:
        return None
    return Modes(low=centres[0], high=centres[1], valley=valley, share_high=share)


def _split(ordered: Array) -> int:
    """Return how many of the sorted values belong to the lower part, by Otsu's criterion."""
    n = ordered.size
    count = np.arange(1, n)
    total = np.cumsum(ordered - ordered[0])
    gap = total[:-1] / count - (total[-1] - total[:-1]) / (n - count)
    return int(np.argmax(count * (n - count) * gap**2)) + 1


def _bandwidth(low: Array, high: Array, step: float | None) -> float:
    """Return the geometric mean of Silverman's bandwidths of two parts, at least one `step`."""
    widths = [
        0.9 * 1.4826 * float(np.median(np.abs(part - np.median(part)))) * part.size**-0.2
        for part in (low, high)
    ]
    return max(math.sqrt(widths[0] * widths[1]), step or 0.0)


def _valley(ordered: Array, centres: tuple[float, float], width: float) -> float | None:
    """Return where the density between two centers falls low enough to part them."""
    start, span = float(ordered[0]), float(ordered[-1] - ordered[0])
    counts, edges = np.histogram(ordered, bins=_CELLS, range=(start, start + span))
    cell = span / _CELLS
    reach = int(min(4 * width / cell, _CELLS)) + 1
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * cell / max(width, cell)) ** 2)
    density = np.convolve(np.pad(counts, reach), kernel, mode="valid")
    left, right = (min(int((centre - start) / cell), _CELLS - 1) for centre in centres)
    if right - left < 2:
        return None
    bottom = left + int(np.argmin(density[left : right + 1]))
    peak = min(float(density[: bottom + 1].max()), float(density[bottom:].max()))
    middle = (float(edges[bottom]) + float(edges[bottom + 1])) / 2
    return middle if float(density[bottom]) < VALLEY * peak else None


MIN_VALUES = 30
#: A change below this share of the first level is not worth a word.
MIN_CHANGE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A change of level over a series.

    Attributes:
        first, last: Medians of the first and the last third, in the unit of the samples.
        change_pct: From first to last.
        noise_pct: What the change of a series without drift stays below 95 times of 100.
    """

    first: float
    last: float
    change_pct: float
    noise_pct: float


def drift(values: Any) -> Drift | None:
    """Return how far the last third lies from the first, or ``None`` where that may be noise.

    The noise is taken from what is left when the line through the medians of the thirds is
    removed: its median's interval, by `quantile_interval`, is that of a whole series; a third's is
    √3 times wider, the difference of two √6 times.

    Args:
        values: In the order they were taken; fewer than 30 show no drift.

    Returns:
        ``None`` for a change below 1 % too, and where the level is not positive.
    """
    series = as_series(values)
    if series.size < MIN_VALUES:
        return None
    levels = [float(np.median(part)) for part in np.array_split(series, 3)]
    first, last = levels[0], levels[-1]
    if first <= 0 or abs(last - first) < MIN_CHANGE * first:
        return None
    interval = quantile_interval(series - _line(series.size, levels), 0.5)
    if interval is None:
        return None
    noise = 6**0.5 * (interval.high - interval.low) / 2
    if abs(last - first) <= noise:
        return None
    change_pct, noise_pct = 100 * (last - first) / first, 100 * noise / first
    return Drift(first=first, last=last, change_pct=change_pct, noise_pct=noise_pct)


def _line(n: int, levels: list[float]) -> Array:
    """Return the line through the centers of three thirds, straight on beyond the outer two."""
    slopes = np.diff(levels)
    place = np.arange(n) / n * 3 - 0.5
    knots = np.array([-0.5, 0.0, 1.0, 2.0, 2.5])
    heights = [levels[0] - slopes[0] / 2, *levels, levels[2] + slopes[1] / 2]
    line: Array = np.interp(place, knots, heights)
    return line


OUTLIER_SHARE = 0.001
MANY_OUTLIERS_SHARE = 0.01
TIMER_SHARE = 0.01
#: What slow first samples add to the mean, below which no figure shows them.
FIRST_RUNS_SHARE = 0.0002
ENOUGH_SAMPLES = 100
ENOUGH_EFFECTIVE = 30
WIDE_PCT = 5.0


class _Facts:
    """A series and what several rules ask of it, each computed once."""

    def __init__(self, values: Array, warmup: Array | None) -> None:
        self.values, self.warmup = values, warmup

    @cached_property
    def median(self) -> float:
        return float(np.median(self.values))

    @cached_property
    def scores(self) -> Array:
        return outlier_scores(self.values)

    @cached_property
    def effective_n(self) -> float:
        n = self.values.size
        return effective_samples(levels_of(self.values)) if n >= 4 else float(n)

    @cached_property
    def interval(self) -> Interval | None:
        return quantile_interval(self.values, 0.5)


def notices_of(samples: Samples) -> tuple[Notice, ...]:
    """Return what a reader of `samples` should know before trusting them.

    Args:
        samples: At least one. Of its warm-up only the last tenth counts: it tells why the first
            samples are slow.

    Returns:
        In a fixed order; empty when there is nothing to say. Of a series whose median is 0, such as
        the transfers of a run without any, nothing is said.
    """
    values = as_series(samples.values_ms, name=f"samples of {samples.metric}")
    return _notices(values, samples.warmup_ms)


@once_per_series
def _notices(values: Array, warmup: Array | None) -> tuple[Notice, ...]:
    facts = _Facts(values, warmup)
    if facts.median <= 0:
        return ()
    found = (rule(facts) for rule in _RULES)
    return tuple(one for one in found if one is not None)


def _few_samples(facts: _Facts) -> Notice | None:
    n, effective = facts.values.size, facts.effective_n
    if n >= ENOUGH_SAMPLES and effective >= ENOUGH_EFFECTIVE:
        return None
    evidence = {"n": n, "effective_n": effective}
    if n >= ENOUGH_SAMPLES:
        told = f"{n:,} samples, effective sample size {math.floor(effective):,}"
        return Notice("W-AUTOCORRELATED", f"strongly autocorrelated: {told}", evidence)
    count = f"{n:,} samples" if n != 1 else "one sample"
    return Notice("W-FEW-SAMPLES", f"{count}; measure at least {ENOUGH_SAMPLES}", evidence)


def _not_converged(facts: _Facts) -> Notice | None:
    interval = facts.interval
    half_pct = interval.half_width_pct if interval else None
    if interval is None or half_pct is None or half_pct <= WIDE_PCT:
        return None
    return Notice(
        "W-NOT-CONVERGED",
        f"the median is only known to ±{format_significant(half_pct, 2)} %; measure longer",
        {"half_width_pct": half_pct, "low_ms": interval.low, "high_ms": interval.high},
    )


def _drift(facts: _Facts) -> Notice | None:
    found = drift(facts.values)
    if found is None:
        return None
    way = "above" if found.change_pct > 0 else "below"
    return Notice(
        "W-DRIFT",
        f"latency drifts: the median of the last third is {format_ms(found.last)}, "
        f"{format_significant(abs(found.change_pct), 2)} % {way} the first third's "
        f"{format_ms(found.first)}",
        {
            "first_ms": found.first,
            "last_ms": found.last,
            "change_pct": found.change_pct,
            "noise_pct": found.noise_pct,
        },
    )


def _bimodal(facts: _Facts) -> Notice | None:
    modes = two_modes(facts.values)
    if modes is None:
        return None
    gap_pct, high = 100 * (modes.high - modes.low) / modes.low, 100 * modes.share_high
    return Notice(
        "W-BIMODAL",
        f"latency is bimodal: {format_ms(modes.low)} and {format_ms(modes.high)} "
        f"({format_significant(gap_pct, 2)} % apart, {high:.0f} % of the samples "
        "at the higher mode); do not quote a single number",
        {"low_ms": modes.low, "high_ms": modes.high, "gap_pct": gap_pct, "share_high_pct": high},
    )


def _outliers(facts: _Facts) -> Notice | None:
    beyond = np.abs(facts.scores) > LIMIT
    share = float(np.mean(beyond))
    if share < OUTLIER_SHARE:
        return None
    many = share >= MANY_OUTLIERS_SHARE
    farthest = float(facts.values[np.argmax(np.abs(facts.scores))])
    count = int(np.count_nonzero(beyond))
    return Notice(
        "W-OUTLIERS" if many else "I-OUTLIERS",
        f"{count:,} of {facts.values.size:,} samples ({format_significant(100 * share, 2)} %) "
        f"are outliers, the farthest at {format_ms(farthest)}",
        {"count": count, "share_pct": 100 * share, "farthest_ms": farthest},
    )


def _first_runs(facts: _Facts) -> Notice | None:
    slow = facts.scores > LIMIT
    if not slow[0]:
        return None
    count = int(slow.size if slow.all() else np.argmin(slow))
    first = float(facts.values[0])
    share = float(np.sum(facts.values[:count] / facts.median - 1)) / slow.size
    if share < FIRST_RUNS_SHARE:
        return None
    which = "the first sample is"
    if count > 1:
        which = f"the first {count:,} samples are far above the median, the first at"
    warmup_ms = _end_of_warmup(facts)
    return Notice(
        "W-FIRST-RUNS",
        f"{which} {format_significant(first / facts.median)} × the median; "
        f"{_advice(facts, warmup_ms)}",
        {
            "count": count,
            "first_ms": first,
            "median_ms": facts.median,
            "share_pct": 100 * share,
            **({} if warmup_ms is None else {"warmup_end_ms": warmup_ms}),
        },
    )


def _end_of_warmup(facts: _Facts) -> float | None:
    """Return the median of the last tenth of the warm-up; ``None`` without a recorded warm-up."""
    if facts.warmup is None or not facts.warmup.size:
        return None
    return float(np.median(facts.warmup[-max(10, facts.warmup.size // 10) :]))


def _advice(facts: _Facts, warmup_ms: float | None) -> str:
    """Say what to do: a longer warm-up helps only where the recorded one had not ended."""
    if facts.warmup is None:
        return "a longer warm-up may help"
    if warmup_ms is None:
        return "the run had no warm-up; add one"
    deviation = float(np.median(np.abs(facts.values - facts.median)))
    if warmup_ms > max(facts.median * (1 + TOLERANCE), facts.median + LIMIT * deviation):
        return f"the warm-up ended at {format_ms(warmup_ms)}; make it longer"
    return (
        f"the warm-up had reached {format_ms(warmup_ms)}, so a longer one does not help; "
        "look for other load at that moment"
    )


def _timer(facts: _Facts) -> Notice | None:
    step = quantum(facts.values)
    if step is None or step <= TIMER_SHARE * facts.median:
        return None
    share_pct = 100 * step / facts.median
    return Notice(
        "W-TIMER",
        f"the clock has steps of {format_ms(step, 3)}, "
        f"{format_significant(share_pct, 2)} % of the median",
        {"step_ms": step, "share_pct": share_pct},
    )


_RULES = (_few_samples, _not_converged, _drift, _bimodal, _first_runs, _outliers, _timer)
