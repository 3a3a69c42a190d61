"""Print how often a quantile's 95 % interval covers the truth, on simulated series.

``python benchmarks/statistics/coverage.py [--quick] [--quantile 0.5]``. For each kind of series and
each length: of the intervals given, the percentage that cover; in brackets, the percentage of the
series that are given one, where that is not all. Last, the coverage of the interval that takes the
samples for independent, at the greatest length.
"""

from __future__ import annotations

import argparse

import numpy as np
from series_kinds import KINDS, Kind

from enginescope.judge.stats.autocorrelation import quantile_interval

LENGTHS = (100, 300, 1_000, 3_000, 10_000)
#: Series of this many samples are drawn at a time.
CHUNK = 2_000_000


def covered(kind: Kind, q: float, n: int, series: int) -> tuple[int, int, int]:
    """Return how many intervals were given, how many of them cover, and how many naive ones do."""
    rng = np.random.default_rng([7, n])
    truth = kind.quantile(q)
    given = hits = naive = 0
    chunk = max(1, CHUNK // n)
    for done in range(0, series, chunk):
        for values in kind.draw(rng, min(chunk, series - done), n):
            low, high = independent_interval(values, q)
            naive += low <= truth <= high
            interval = quantile_interval(values, q)
            if interval is not None:
                given += 1
                hits += interval.low <= truth <= interval.high
    return given, hits, naive


def independent_interval(values: np.ndarray, q: float) -> tuple[float, float]:
    """Return the order statistics that bound a quantile of independent samples."""
    n = values.size
    reach = 1.96 * (q * (1 - q) * n) ** 0.5
    ranks = np.clip(np.rint([q * n - reach - 0.5, q * n + reach - 0.5]), 0, n - 1).astype(int)
    low, high = np.partition(values, ranks)[ranks]
    return float(low), float(high)


def row(kind: Kind, q: float, lengths: tuple[int, ...], series: int) -> str:
    """Return one line of the table, in Markdown."""
    cells = []
    naive = 0
    for n in lengths:
        given, hits, naive = covered(kind, q, n, series)
        share = "" if given == series else f" ({100 * given / series:.0f})"
        cells.append(f"{100 * hits / given:.1f}{share}" if given else "none (0)")
    return f"| {kind.name} | {' | '.join(cells)} | {100 * naive / series:.1f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 series a cell, not 2,000")
    parser.add_argument("--quantile", type=float, default=0.5)
    options = parser.parse_args()
    series, lengths = (200, LENGTHS[:4]) if options.quick else (2_000, LENGTHS)
    print(f"| series, quantile {options.quantile} | ", end="")
    print(" | ".join(f"n = {n:,}" for n in lengths), "| as if independent |")
    print("|---" * (len(lengths) + 2) + "|")
    for kind in KINDS:
        print(row(kind, options.quantile, lengths, series), flush=True)


if __name__ == "__main__":
    main()
