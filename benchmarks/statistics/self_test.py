"""Print how often the intervals of a machine's self-test cover what comparisons really find.

``python benchmarks/statistics/self_test.py [--sets 200]``. Each data set has a few rounds of a
machine whose noise is known. The true shares are of comparisons of that noise itself. Differences
are those that the true curve finds in 30, 60 and 90 of 100 comparisons.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from printed import print_table

from enginescope.judge.comparison.detection import DrawnComparisons
from enginescope.judge.comparison.looks import LOOKS

THRESHOLD_PCT = 1.0
SHARES = (0.3, 0.6, 0.9)
#: Noise by name: values of standard deviation 1.
NOISES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Student's t, 3": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "two levels": lambda rng, n: rng.choice((-1.0, 1.0), n) + 0.1 * rng.standard_normal(n),
}


class Row(NamedTuple):
    """A machine and the number of its measured rounds."""

    noise: str
    sd: float
    rounds: int
    sets: int


def row_of(row: Row) -> str:
    """Return a row of the table, in Markdown."""
    rng = np.random.default_rng([71, len(row.noise), int(1e5 * row.sd), row.rounds])
    make = NOISES[row.noise]
    true = DrawnComparisons(row.sd * make(rng, 20_000), LOOKS, THRESHOLD_PCT)
    grid = np.geomspace(0.1, 50, 300)
    curve = true.shares(grid).found
    planted = [float(grid[int(np.argmax(curve >= share))]) for share in SHARES]
    truth = true.shares(planted).found
    smallest = true.smallest().difference_pct
    covered, ratio = np.zeros(4), []
    for _ in range(row.sets):
        drawn = DrawnComparisons(row.sd * make(rng, row.rounds), LOOKS, THRESHOLD_PCT)
        found, least = drawn.shares(planted), drawn.smallest()
        covered[:3] += (found.low <= truth) & (truth <= found.high)
        covered[3] += least.low_pct <= smallest <= least.high_pct
        ratio.append(least.difference_pct / smallest)
    cells = [
        row.noise,
        f"{100 * row.sd:g} %",
        str(row.rounds),
        *(f"{100 * one / row.sets:.1f}" for one in covered),
        f"{smallest:.2f} %",
        f"{np.median(ratio):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


HEADERS = (
    "noise",
    "SD of a round",
    "rounds",
    *(f"covered at {100 * share:.0f} %" for share in SHARES),
    "smallest covered",
    "smallest",
    "estimate ÷ smallest",
)
MACHINES = (
    ("normal", 0.02, 40),
    ("normal", 0.05, 40),
    ("normal", 0.05, 16),
    ("normal", 0.05, 8),
    ("Student's t, 3", 0.05, 40),
    ("two levels", 0.05, 40),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each row")
    sets = parser.parse_args().sets
    with ProcessPoolExecutor() as pool:
        rows = pool.map(row_of, [Row(*machine, sets) for machine in MACHINES])
        print_table(f"{sets:,} data sets a row; covered in percent", HEADERS, rows)


if __name__ == "__main__":
    main()
