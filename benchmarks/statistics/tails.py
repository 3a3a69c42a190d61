"""Print how often ``gate --metric p99`` is right.

``python benchmarks/statistics/tails.py [--gates 60]``. Five processes on each side, measured in one
session, and a limit of 2 %. Each gate compares two sides that do the same work, and then the same
samples with a tail that is 10 % worse: every sample above the 95th percentile of its process. The
table counts gates with a regression, gates that call the tail inconclusive, and planted tails that
are found.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from gated_jobs import processes_of
from printed import print_table, share
from process_kinds import WITHIN_KINDS, series_about_0

from enginescope.analysis.gate.gate import gate
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateTerms, Limit

PROCESSES = 5
TERMS = GateTerms(limits=(Limit(metric="p99", regression_pct=2.0),))
#: Samples of each process of the baseline and of the current side.
COUNTS = ((300, 300), (500, 500), (700, 700), (2_000, 2_000), (10_000, 10_000), (2_000, 300))
SCATTERS_PCT = (0.3, 1.0, 2.0)
#: A twentieth of the samples is slower by half on average: a tail far above the median.
SPIKES = "spikes"
PLANTED = 1.1

Array = np.ndarray


class Row(NamedTuple):
    """Samples in each process of either side, and how they follow each other."""

    counts: tuple[int, int]
    kind: str
    gates: int

    def draws(self) -> Iterator[tuple[Array, Array]]:
        """Yield both sides of one gate after the other, an array for each process."""
        at = COUNTS.index(self.counts), KINDS.index(self.kind)
        rng = np.random.default_rng([51, *at])
        for number in range(self.gates):
            scatter = SCATTERS_PCT[number % len(SCATTERS_PCT)] / 100
            first, second = (
                np.exp(scatter * rng.standard_normal((PROCESSES, 1)) + self._series(rng, n))
                for n in self.counts
            )
            yield first, second

    def _series(self, rng: np.random.Generator, n: int) -> Array:
        if self.kind != SPIKES:
            return series_about_0(rng, self.kind, PROCESSES, n)
        spikes = (rng.random((PROCESSES, n)) < 0.05) * rng.exponential(0.5, (PROCESSES, n))
        return np.log1p(spikes) + 0.01 * rng.standard_normal((PROCESSES, n))


KINDS = (*WITHIN_KINDS, SPIKES)


def worse(series: Array) -> Array:
    """Return the samples of one process with a tail that is 10 % worse, and the same median."""
    return np.where(series > np.quantile(series, 0.95), PLANTED * series, series)


def row_of(row: Row) -> str:
    """Return a row of the table, in Markdown."""
    same: list[GateReport] = []
    planted: list[GateReport] = []
    for a, b in row.draws():
        baseline = processes_of(a)
        same.append(gate(baseline, processes_of(b), TERMS))
        planted.append(gate(baseline, processes_of([worse(one) for one in b]), TERMS))
    cells = (
        share(one.count(GateOutcome.REGRESSION) > 0 for one in same),
        share(one.count(GateOutcome.INCONCLUSIVE) > 0 for one in same),
        share(one.count(GateOutcome.REGRESSION) > 0 for one in planted),
    )
    return f"| {_counts(row.counts)} | {row.kind} | {' | '.join(cells)} |"


def _counts(counts: Sequence[int]) -> str:
    return " and ".join(f"{one:,}" for one in dict.fromkeys(counts))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=60, help="in each row")
    gates = parser.parse_args().gates
    with ProcessPoolExecutor() as pool:
        print_table(
            f"p99 of {PROCESSES} processes a side, limit 2 %; {gates:,} gates a row",
            ("samples", "kind", "A/A regression, %", "A/A inconclusive, %", "10 % worse found, %"),
            pool.map(row_of, [Row(counts, kind, gates) for counts in COUNTS for kind in KINDS]),
        )


if __name__ == "__main__":
    main()
