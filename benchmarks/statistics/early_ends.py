"""Print by how much a comparison that ends early overstates a difference, and with correction.

``python benchmarks/statistics/early_ends.py [--comparisons 1000]``. The differences of rounds are
normal with a standard deviation of 2, 5 or 10 %. Only comparisons that end with a difference enter
the means: the ratio shown, `corrected_ratio`, and the share of intervals that hold the truth.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from in_rounds import DIFFERENT, compare_in_rounds
from printed import print_table, share

from enginescope.judge.comparison.looks import LOOKS
from enginescope.judge.comparison.ratio import corrected_ratio

SCATTERS_PCT = (2.0, 5.0, 10.0)
SLOWER_PCT = (2.0, 3.0, 5.0, 10.0)


def row(scatter_pct: float, slower_pct: float, comparisons: int) -> str:
    """Return one line of the table, in Markdown."""
    rng = np.random.default_rng([47, int(scatter_pct), int(slower_pct)])
    truth = 1 + slower_pct / 100
    shown, corrected, early, covers = [], [], [], []
    for _ in range(comparisons):
        logs = math.log(truth) + scatter_pct / 100 * rng.standard_normal(LOOKS[-1])
        ended = compare_in_rounds(np.ones(LOOKS[-1]), np.exp(logs))
        if ended.kind not in DIFFERENT:
            continue
        estimate = ended.looks[-1]
        fixed = corrected_ratio(estimate, 1.0)
        assert fixed is not None
        shown.append(100 * (estimate.ratio - 1))
        corrected.append(100 * (fixed - 1))
        covers.append(ended.covers(truth))
        if ended.rounds <= LOOKS[1]:
            early.append(100 * (estimate.ratio - 1))
    soon = f"{np.mean(early):.1f}" if early else "none"
    cells = (
        f"{100 * len(shown) / comparisons:.0f}",
        f"{np.mean(shown):.1f}" if shown else "none",
        soon,
        f"{np.mean(corrected):.1f}" if corrected else "none",
        share(covers),
    )
    return f"| {scatter_pct:g} % | {slower_pct:g} % | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1_000, help="in each row")
    comparisons = parser.parse_args().comparisons
    heads = ("scatter", "truly slower", "decided, %", "shown, mean %")
    print_table(
        f"Comparisons that end with a difference, of {comparisons:,} in each row",
        (*heads, f"shown after {LOOKS[1]} rounds or fewer", "corrected, mean %", "covers, %"),
        (row(scatter, slower, comparisons) for scatter in SCATTERS_PCT for slower in SLOWER_PCT),
    )


if __name__ == "__main__":
    main()
