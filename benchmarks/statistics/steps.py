"""Print how often the median's 95 % interval covers where values come in steps of a clock.

``python benchmarks/statistics/steps.py [--series 400]``. Series with a standard deviation of 0.1 to
10 steps are rounded to steps; the true median lies anywhere between two of them. ``rounded`` takes
the nearest step, as a printed figure does; ``ticks`` is the difference of two readings of a clock,
as a timer gives. A cell holds the percentage of the intervals that cover, and their mean width in
steps; in brackets the percentage of the series that have an interval. Then A/A comparisons.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from printed import print_table
from series_kinds import autoregressive

from enginescope.judge.comparison.ratio import ratio_by_scatter, ratio_of_rounds
from enginescope.judge.samples import Array
from enginescope.judge.stats.autocorrelation import quantile_interval

DEVIATIONS = (0.1, 0.3, 1.0, 3.0, 10.0)
LENGTHS = (100, 1_000, 10_000)
#: The true median in steps, less a fraction.
LEVEL = 1_000
Draw = Callable[[np.random.Generator, int], Array]
#: Each of unit deviation or so, with median 0.
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "AR(1) 0.9": lambda rng, n: autoregressive(rng, 1, n, 0.9)[0],
    "exponential": lambda rng, n: rng.exponential(1.0, n) - np.log(2),
    "lognormal": lambda rng, n: np.exp(0.8 * rng.standard_normal(n)) - 1,
    "Student t, 2 degrees": lambda rng, n: rng.standard_t(2, n),
}
GRIDS: dict[str, Callable[[np.random.Generator, Array], Array]] = {
    "rounded": lambda _rng, values: np.round(values),
    "ticks": lambda rng, values: np.floor(values + rng.random(values.size)),
}


def coverage_rows(series: int) -> Iterator[str]:
    """Yield one row for each shape, grid and deviation."""
    for shape, draw in SHAPES.items():
        for grid, rounding in GRIDS.items():
            for deviation in DEVIATIONS:
                cells = [cell(draw, rounding, deviation, n, series) for n in LENGTHS]
                yield f"| {shape} | {grid} | {deviation:g} | {' | '.join(cells)} |"


def cell(draw: Draw, rounding: Callable[..., Array], deviation: float, n: int, series: int) -> str:
    """Return coverage, mean width and the percentage of series that have an interval."""
    rng = np.random.default_rng([n, int(10 * deviation)])
    hits, widths = [], []
    for _ in range(series):
        median = LEVEL + rng.random()
        interval = quantile_interval(rounding(rng, median + deviation * draw(rng, n)), 0.5)
        if interval is not None:
            hits.append(interval.low <= median <= interval.high)
            widths.append(interval.high - interval.low)
    if not hits:
        return "none"
    given = "" if len(hits) == series else f" ({100 * len(hits) / series:.0f})"
    return f"{100 * np.mean(hits):.1f} · {np.mean(widths):.2f}{given}"


def comparison_rows(comparisons: int) -> Iterator[str]:
    """Yield, for steps of 0.1 to 5 % of the median, how often equal sides are called different."""
    rng = np.random.default_rng(5)
    for percent in (0.1, 1.0, 5.0):
        for deviation in DEVIATIONS[:4]:
            samples, rounds = [], []
            for _ in range(comparisons):
                sides = rng.random() + 100 / percent + deviation * rng.standard_normal((2, 16, 200))
                sides = np.round(sides)
                samples.append(ratio_by_scatter([sides[0, 0]], [sides[1, 0]], scatter=0.0).interval)
                rounds.append(ratio_of_rounds(*np.median(sides, axis=2)).interval)
            cells = (differs(samples), differs(rounds))
            yield f"| {percent:g} % | {deviation:g} | {' | '.join(cells)} |"


def differs(intervals: list) -> str:
    """Return which percentage of the intervals leave out 1, and how many there are."""
    known = [one for one in intervals if one is not None]
    if not known:
        return "none"
    given = "" if len(known) == len(intervals) else f" ({100 * len(known) / len(intervals):.0f})"
    return f"{100 * np.mean([not one.low <= 1 <= one.high for one in known]):.1f}{given}"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=400)
    series = parser.parse_args().series
    lengths = (f"n = {n:,}" for n in LENGTHS)
    print_table(
        f"Coverage in % · width in steps, {series} series a cell",
        ("series", "steps", "SD, steps", *lengths),
        coverage_rows(series),
    )
    print_table(
        f"Equal sides called different, %; {series} comparisons a cell",
        ("step ÷ median", "SD, steps", "two runs of 200 samples", "16 rounds of 200 samples"),
        comparison_rows(series),
    )


if __name__ == "__main__":
    main()
