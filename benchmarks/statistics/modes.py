"""Print how often the median's interval covers, of series with slow modes among others.

``python benchmarks/statistics/modes.py [--series 400]``. Processes with one level, or with two that
are 5 % apart, for visits of so many samples. Of the intervals given, the percentage that cover; in
brackets, the percentage of the series that are given one. A series that spends less than a tenth of
its samples on the other level cannot know of it, as if it kept to one level for a whole process:
its interval has to hold the median of its own level. After the bar: how many series those are.
"""

from __future__ import annotations

import argparse
from statistics import NormalDist

import numpy as np
from series_kinds import autoregressive

from enginescope.judge.stats.autocorrelation import quantile_interval
from enginescope.judge.stats.stability import MIN_SHARE

LENGTHS = (200, 500, 1_000, 2_000, 5_000)
LEVELS = (1.0, 1.05)
NOISE = 0.005
#: Name, autocorrelation; the deviation is 2 %.
AUTOCORRELATED = (("white", 0.0), ("AR(1) 0.5", 0.5), ("AR(1) 0.9", 0.9), ("AR(1) 0.98", 0.98))
#: Samples a visit to the lower level, `None`: a whole process; share of the higher level.
MODES = tuple((dwell, share) for dwell in (1, 10, 100, None) for share in (0.3, 0.5))
Draw = tuple[np.ndarray, float, np.ndarray | None]


def states(
    rng: np.random.Generator, series: int, n: int, dwell: int | None, share: float
) -> np.ndarray:
    """Return which samples lie on the higher level."""
    state = rng.random(series) < share
    if dwell is None:
        return np.repeat(state[:, None], n, axis=1)
    if dwell == 1:
        return rng.random((series, n)) < share
    leaving = np.array([1 / dwell, (1 - share) / share / dwell])
    high = np.empty((n, series), dtype=bool)
    for at in range(n):
        state = state ^ (rng.random(series) < leaving[state.astype(int)])
        high[at] = state
    return high.T


def median_of(share: float) -> float:
    """Return the median of both levels together; the middle between them where each has half."""
    if share == 0.5:
        return sum(LEVELS) / 2
    return LEVELS[0] + NOISE * NormalDist().inv_cdf(0.5 / (1 - share))


def draws(series: int, n: int) -> dict[str, Draw]:
    """Return series of each kind, their true median, and which samples lie on the higher level."""
    rng = np.random.default_rng([43, n])
    found: dict[str, Draw] = {}
    for name, phi in AUTOCORRELATED:
        found[name] = (1 + 0.02 * autoregressive(rng, series, n, phi), 1.0, None)
    found["log-normal"] = (rng.lognormal(size=(series, n)), 1.0, None)
    coarse = np.round((1.007 + 0.02 * rng.standard_normal((series, n))) / 0.02) * 0.02
    found["quantized, steps of 1 SD"] = (coarse, 1.007, None)
    for dwell, share in MODES:
        high = states(rng, series, n, dwell, share)
        values = np.where(high, LEVELS[1], LEVELS[0]) + NOISE * rng.standard_normal(high.shape)
        visits = "a whole process" if dwell is None else f"{dwell} samples"
        name = f"modes, {visits}, {100 * share:g} % high"
        found[name] = (values, median_of(share), high)
    return found


def cell(draw: Draw) -> str:
    """Return coverage, series given an interval, and series that keep to one level."""
    values, truth, high = draw
    given = hits = keeps = 0
    for at, series in enumerate(values):
        share = 0.5 if high is None else float(high[at].mean())
        alone = min(share, 1 - share) < MIN_SHARE
        keeps += alone
        interval = quantile_interval(series, 0.5)
        if interval is not None:
            given += 1
            level = LEVELS[round(share)] if alone else truth
            hits += any(interval.low <= one <= interval.high for one in {truth, level})
    kept = f" \\| {100 * keeps / len(values):.0f}" if keeps else ""
    shown = "none" if not given else f"{100 * hits / given:.1f}"
    return f"{shown} ({100 * given / len(values):.0f}){kept}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=400, help="in each cell")
    series = parser.parse_args().series
    print("| series |", " | ".join(f"n = {n:,}" for n in LENGTHS), "|")
    print("|---" * (len(LENGTHS) + 1) + "|")
    by_length = [draws(series, n) for n in LENGTHS]
    for name in by_length[0]:
        print(f"| {name} |", " | ".join(cell(one[name]) for one in by_length), "|", flush=True)


if __name__ == "__main__":
    main()
