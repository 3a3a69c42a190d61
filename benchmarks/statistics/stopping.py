"""Print the coverage of the interval at which the precision rule stops.

``python benchmarks/statistics/stopping.py``. A series of samples with 2 % of spread is looked at
after 100, 126, 158 … samples, as the measuring loop does, until the median's interval is within
±0.5 %. Looking often and stopping at a lucky moment costs coverage; the table says how much.
The loop's least time, half a second, is left out: with fast models it makes the series longer.
"""

from __future__ import annotations

import numpy as np
from series_kinds import KINDS, Kind

from enginescope.judge.stats.autocorrelation import quantile_interval

SERIES = 500
LONGEST = 8_000
PRECISION_PCT = 0.5
NAMES = (
    "normal",
    "AR(1) 0.5",
    "AR(1) 0.9",
    "AR(1) 0.99",
    "two levels",
    "two levels, 35 samples a visit",
    "AR(1) 0.99 under white noise",
)


def stopped(values: np.ndarray, truth: float) -> tuple[int, bool] | None:
    """Return after how many samples the rule stops and whether the interval then covers."""
    n = 100
    while n <= values.size:
        interval = quantile_interval(values[:n], 0.5)
        half_pct = interval.half_width_pct if interval else None
        if interval is not None and half_pct is not None and half_pct <= PRECISION_PCT:
            return n, interval.low <= truth <= interval.high
        n = int(1.25 * n) + 1
    return None


def row(kind: Kind) -> str:
    """Return one line of the table, in Markdown."""
    series = kind.draw(np.random.default_rng(10), SERIES, LONGEST)
    truth = kind.quantile(0.5)
    if not kind.name.startswith("two levels"):
        series, truth = 1 + 0.02 * series, 1 + 0.02 * truth
    ends = [one for one in (stopped(values, truth) for values in series) if one is not None]
    share, covers = len(ends) / SERIES, np.mean([covers for _, covers in ends])
    median = int(np.median([n for n, _ in ends]))
    return f"| {kind.name} | {100 * share:.0f} | {median:,} | {100 * covers:.1f} |"


def main() -> None:
    """Print the table."""
    print("| series | stopped, % | after samples, median | covers, % |")
    print("|---|---|---|---|")
    for name in NAMES:
        print(row(next(one for one in KINDS if one.name == name)), flush=True)


if __name__ == "__main__":
    main()
