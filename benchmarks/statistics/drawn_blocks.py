"""Print the coverage of our interval of the median beside that of blocks drawn in earnest.

``python benchmarks/statistics/drawn_blocks.py``. The other is the usual moving block bootstrap:
blocks of four autocorrelation times, 500 resamples, and the 2.5 and 97.5 % points of their medians.
In brackets, the percentage of series given an interval, where that is not all; the usual one always
gives one. Last, milliseconds a series took.
"""

from __future__ import annotations

import time

import numpy as np
from series_kinds import KINDS

from enginescope.judge.stats.autocorrelation import integrated_time, quantile_interval

SERIES = 400
RESAMPLES = 500
NAMES = ("normal", "AR(1) 0.5", "AR(1) 0.9", "AR(1) 0.99", "two levels, 35 samples a visit")
LENGTHS = (300, 1_000, 3_000)


def drawn_interval(values: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return the percentile interval of the median from moving blocks drawn with replacement."""
    n = values.size
    length = int(min(max(1, 4 * integrated_time(values <= np.median(values))), n // 2))
    blocks = -(-n // length)
    starts = rng.integers(0, n - length + 1, size=(RESAMPLES, blocks))
    places = (starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :n]
    low, high = np.quantile(np.median(values[places], axis=1), [0.025, 0.975])
    return float(low), float(high)


def row(name: str, n: int) -> str:
    """Return one line of the table, in Markdown."""
    kind = next(one for one in KINDS if one.name == name)
    rng = np.random.default_rng([8, n])
    series, truth = kind.draw(rng, SERIES, n), kind.quantile(0.5)
    begin = time.perf_counter()
    ours = [quantile_interval(values, 0.5) for values in series]
    middle = time.perf_counter()
    drawn = [drawn_interval(values, rng) for values in series]
    end = time.perf_counter()
    given = [one for one in ours if one is not None]
    hits = sum(one.low <= truth <= one.high for one in given)
    share = "" if len(given) == SERIES else f" ({100 * len(given) / SERIES:.0f})"
    text = f"{100 * hits / len(given):.1f}{share}" if given else "none (0)"
    others = 100 * np.mean([low <= truth <= high for low, high in drawn])
    costs = f"{1e3 * (middle - begin) / SERIES:.2f} | {1e3 * (end - middle) / SERIES:.0f}"
    return f"| {name} | {n:,} | {text} | {others:.1f} | {costs} |"


def main() -> None:
    """Print the table."""
    print("| series | n | ours, % | drawn, % | ours, ms | drawn, ms |")
    print("|---|---|---|---|---|---|")
    for name in NAMES:
        for n in LENGTHS:
            print(row(name, n), flush=True)


if __name__ == "__main__":
    main()
