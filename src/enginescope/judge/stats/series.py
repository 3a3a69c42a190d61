"""Check that values are a series of samples, and estimate the timer resolution behind them.

Statistics of samples that cannot change: computed once for as long as the samples are kept.
"""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from enginescope.judge.errors import UsageError
from enginescope.judge.samples import Array


def as_series(values: Any, *, name: str = "samples", at_least: int = 1) -> Array:
    """Return `values` as a float64 array of shape (n,).

    Args:
        name: What an error calls them.
        at_least: The smallest n that is enough.

    Raises:
        UsageError: Not one-dimensional, fewer than `at_least` values, or one of them not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise UsageError(name, why=f"{series.ndim} dimensions", hint="give one value per sample")
    if series.size < at_least:
        raise UsageError(
            name,
            why=f"{series.size} values, and {at_least} are needed",
            hint="measure longer: --iterations or --duration",
        )
    finite = np.isfinite(series)
    if not finite.all():
        first = int(np.argmin(finite))
        raise UsageError(
            name,
            why=f"sample {first} is {series[first]}",
            hint="remove values that were not measured; NaN is not a measurement",
        )
    return series


#: Values this close, relative to the median, are one value that was printed in decimal.
_PRINTED = 1e-5
#: A step is believed when every value of the middle is seen so often on average.
_REPEATS = 4.0
#: Groups of levels that show a clock: how many times the gaps between them exceed those within,
#: how many groups, and how far their distances may differ, as a share of one.
_PARTED = 3.0
_LEAST_GROUPS = 3
_UNEVEN = 0.25


def quantum(values: Any) -> float | None:
    """Return the step between neighboring distinct values, or ``None`` where none is seen.

    The median gap between distinct values of the middle 90 % of the samples, each gap counting for
    as many samples as the rarer of its two ends has; of all samples where the middle ones are
    equal. Only where values repeat: a fine clock gives hardly any value twice.

    Returns:
        In the unit of the values; ``None`` too for fewer than two distinct values.
    """
    ordered = np.sort(as_series(values))
    cut = ordered.size // 20
    middle = ordered[cut : ordered.size - cut]
    return _step_of(ordered, seen=2) if middle[0] == middle[-1] else _step_of(middle, seen=1)


def _step_of(middle: Array, seen: int) -> float | None:
    """Return the median gap; a value taken fewer than `seen` times makes none."""
    near = _PRINTED * abs(float(middle[middle.size // 2]))
    starts = np.flatnonzero(np.diff(middle, prepend=-np.inf) > near)
    if starts.size < 2 or middle.size < _REPEATS * starts.size:
        return None
    counts = np.diff(starts, append=middle.size)
    gaps, weights = np.diff(middle[starts]), np.minimum(counts[1:], counts[:-1])
    if weights.max() < seen:
        return None
    order = np.argsort(gaps)
    total = np.cumsum(weights[order])
    fine = float(gaps[order][np.searchsorted(total, total[-1] / 2)])
    return _clock_step(middle[starts], counts, gaps) or fine


def _clock_step(levels: Array, counts: Array, gaps: Array) -> float | None:
    """Return the step between groups of levels, or ``None`` where the levels form no groups.

    Differences of float32 time stamps put several levels around each step of the clock. The
    greatest gaps part the groups; three groups or more, evenly spaced, are steps of a clock and not
    modes of the latency.
    """
    ordered = np.sort(gaps)
    ratios = ordered[1:] / ordered[:-1]
    if not ratios.size or ratios.max() < _PARTED:
        return None
    group = np.concatenate(([0], np.cumsum(gaps > ordered[int(np.argmax(ratios))])))
    sizes = np.bincount(group, counts)
    steps = np.diff(np.bincount(group, counts * levels) / sizes)
    if steps.size < _LEAST_GROUPS - 1 or np.ptp(steps) > _UNEVEN * np.median(steps):
        return None
    return float(np.median(steps))


Function = TypeVar("Function", bound=Callable[..., Any])


def once_per_series(compute: Function) -> Function:
    """Remember what a function of a series returns, if the series is read-only.

    A page, its notices, its files and its verdicts ask for the same intervals.
    """
    known: dict[int, tuple[weakref.ref[Any], dict[Any, tuple[Any, Any]]]] = {}

    @wraps(compute)
    def remembered(series: Any, *args: Any) -> Any:
        arrays = [series, *(value for value in args if isinstance(value, np.ndarray))]
        if not all(map(_is_fixed, arrays)):
            return compute(series, *args)
        place = id(series)
        reference, results = known.get(place, (None, {}))
        if reference is None or reference() is not series:
            results = {}
            known[place] = (weakref.ref(series, lambda _: known.pop(place, None)), results)
        key = tuple(id(value) if isinstance(value, np.ndarray) else value for value in args)
        if key not in results:
            results[key] = (compute(series, *args), args)  # an array in use keeps its id
        return results[key][0]

    return cast("Function", remembered)


def _is_fixed(series: Any) -> bool:
    """Whether a series is an array that nobody can write to, not even as a part of another."""
    if not isinstance(series, np.ndarray) or series.flags.writeable:
        return False
    return series.base is None or isinstance(series.base, bytes)
