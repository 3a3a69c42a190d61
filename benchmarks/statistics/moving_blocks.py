"""Print twelve batch means with Student's t against overlapping blocks, which they replaced.

``python benchmarks/statistics/moving_blocks.py [--series 1000] [--quantile 0.5]``. Both intervals
are given to the same series and refuse the same ones. Each cell: the percentage of the intervals
from blocks that cover, that of the intervals from batches, and the mean width of the latter divided
by that of the former, over series to which both give an interval. In brackets: the percentage of
series that get an interval, where that is not all.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from series_kinds import KINDS, Kind

from enginescope.judge.samples import Interval
from enginescope.judge.stats.autocorrelation import (
    autoregressive_time,
    integrated_time,
    levels_of,
    quantile_interval,
)

LENGTHS = (100, 300, 1_000, 3_000, 10_000)
#: Series of this many samples are drawn at a time.
CHUNK = 2_000_000


def block_interval(values: np.ndarray, q: float) -> Interval | None:
    """Return the 95 % interval that enginescope gave before: overlapping blocks, fixed-b.

    Blocks of five autocorrelation times, between n/12 and n/2, give Bartlett's long-run variance
    (Künsch 1989); the critical value is a polynomial in the block's share of the series (Kiefer and
    Vogelsang 2005, table I).
    """
    n, ordered = values.size, np.sort(values)
    below = (values <= ordered[math.ceil(q * n) - 1]).astype(float)
    time = max(integrated_time(below), autoregressive_time(levels_of(values)))
    if n / time < 10:
        return None
    length = max(1, round(min(max(5 * time / n, 1 / 12), 1 / 2) * n))
    total, pad = np.cumsum(below - below.mean()), np.zeros(length)
    sums = np.concatenate((total, pad)) - np.concatenate((pad, total))
    variance = max(float(sums @ sums) / (length * n), q * (1 - q) / 4)
    share = length / n
    critical = 1.96 + share * (2.9694 + share * (0.416 - share * 0.5324))
    reach = critical * math.sqrt(variance / n) * (1 + 1.5 * time / n)
    first, last = round((q - reach) * n - 0.5), round((q + reach) * n - 0.5)
    if first < 0 or last > n - 1:
        return None
    return Interval(low=float(ordered[first]), high=float(ordered[last]), confidence=0.95)


def cell(kind: Kind, q: float, n: int, series: int) -> str:
    """Return what blocks and batches do with series of that kind and length."""
    rng = np.random.default_rng([7, n])
    truth, chunk = kind.quantile(q), max(1, CHUNK // n)
    pairs = [
        (block_interval(values, q), quantile_interval(values, q))
        for start in range(0, series, chunk)
        for values in kind.draw(rng, min(chunk, series - start), n)
    ]
    texts = []
    for intervals in zip(*pairs, strict=True):
        given = [interval for interval in intervals if interval is not None]
        if not given:
            texts.append("none")
            continue
        hits = sum(interval.low <= truth <= interval.high for interval in given)
        share = "" if len(given) == series else f" ({100 * len(given) / series:.0f})"
        texts.append(f"{100 * hits / len(given):.1f}{share}")
    both = [(blocks, batches) for blocks, batches in pairs if blocks and batches]
    if not both:
        return " · ".join(texts)
    before, after = np.array(
        [(blocks.high - blocks.low, batches.high - batches.low) for blocks, batches in both]
    ).mean(axis=0)
    return f"{' · '.join(texts)} · {after / before:.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=1_000, help="in each cell")
    parser.add_argument("--quantile", type=float, default=0.5)
    options = parser.parse_args()
    print(f"| series, quantile {options.quantile} | ", end="")
    print(" | ".join(f"n = {n:,}" for n in LENGTHS), "|")
    print("|---" * (len(LENGTHS) + 1) + "|")
    for kind in KINDS:
        cells = (cell(kind, options.quantile, n, options.series) for n in LENGTHS)
        print(f"| {kind.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
