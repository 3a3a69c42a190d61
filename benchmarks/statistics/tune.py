"""Print how often a search among 32 equal alternatives claims a winner, and finds a planted one.

``python benchmarks/statistics/tune.py [--searches 1000]``. Processes are simulated as in
``tests/analysis/tune/test_halving.py``: drift of the machine that a round shares, drift of each
alternative's own, a second level, and disturbed processes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.analysis.tune.test_halving import SIDES, search

from enginescope.judge.verdict import VerdictKind

PLANTED = 7


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--searches", type=int, default=1000)
    searches = parser.parse_args().searches
    print("| planted | a winner is claimed | it is the planted one |")
    print("|---|---|---|")
    for pct in (0, 2, 3, 5):
        levels = np.where(np.arange(SIDES) == PLANTED, np.log1p(-pct / 100), 0.0)
        results = [search(np.random.default_rng(seed), levels) for seed in range(searches)]
        winners = [leader for leader, kind in results if kind is VerdictKind.FASTER]
        right = f"{100 * winners.count(PLANTED) / searches:.1f} %" if pct else "—"
        print(f"| {pct} % faster | {100 * len(winners) / searches:.1f} % | {right} |")


if __name__ == "__main__":
    main()
