"""Print how often a gate is right whose sides have few processes, not measured in turn.

``python benchmarks/statistics/few_processes.py [--comparisons 2000]``. As two suites are: a few
fresh processes a side for each cell, held against a limit of 2 %. For each number of them, each way
in which processes differ and each scatter: how many cells that did the same work are called a
regression, how many are called better or worse, how many are seen to be within the limit, and how
many of planted slowdowns are found. Then how often the interval of a cell's own median holds the
truth.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from in_rounds import DIFFERENT
from printed import print_table, share
from process_kinds import PROCESS_KINDS, ProcessKind, processes

from enginescope.analysis.verdicts.comparability import ASSUMED_SCATTER_PCT
from enginescope.judge.comparison.hodges_lehmann import level_of_processes
from enginescope.judge.comparison.ratio import decide, ratio_by_scatter, ratio_of_few_processes
from enginescope.judge.verdict import RatioEstimate, VerdictKind

LIMIT_PCT = 2.0
#: Processes of the baseline and of the current side.
COUNTS = ((1, 1), (2, 2), (3, 3), (5, 5), (1, 5))
SCATTERS_PCT = (1.0, 2.0, 3.0)
PLANTED_PCT = (3.0, 5.0, 10.0)
#: One after the other: what drifts is a difference to any statistic, and is not asked about here.
KINDS = tuple(one for one in PROCESS_KINDS if one.name != "drifting")
#: Comparisons drawn at a time.
CHUNK = 200

Array = np.ndarray


class Row(NamedTuple):
    """What a row is about, and where its numbers come from."""

    counts: tuple[int, int]
    kind: ProcessKind
    scatter_pct: float
    comparisons: int

    def draws(self) -> Iterator[tuple[Array, Array]]:
        """Yield the samples of both sides' processes, one comparison after the other."""
        rng = np.random.default_rng(
            [31, *self.counts, PROCESS_KINDS.index(self.kind), int(10 * self.scatter_pct)]
        )
        most = max(self.counts)
        for done in range(0, self.comparisons, CHUNK):
            count = min(CHUNK, self.comparisons - done)
            drawn = processes(rng, self.kind, self.scatter_pct / 100, count, most)
            for a, b in zip(*drawn, strict=True):
                yield a[: self.counts[0]], b[: self.counts[1]]


def estimate(a: Array, b: Array) -> RatioEstimate:
    """Return the ratio as a gate has it, of processes that were not measured in turn."""
    found = ratio_of_few_processes(*(list(np.median(one, axis=1)) for one in (a, b)))
    if found.interval is not None:
        return found
    return ratio_by_scatter(list(a), list(b), scatter=math.log1p(ASSUMED_SCATTER_PCT / 100))


def gated(row: Row) -> str:
    """Return a row of the first table, in Markdown."""
    kinds: dict[float, list[VerdictKind]] = {pct: [] for pct in (0.0, *PLANTED_PCT)}
    covers, within = [], []
    for a, b in row.draws():
        for pct, found in kinds.items():
            made = estimate(a, (1 + pct / 100) * b)
            kind, _ = decide(made, LIMIT_PCT)
            found.append(kind)
            if pct == 0.0 and made.interval is not None:
                covers.append(made.interval.low <= 1 <= made.interval.high)
                within.append(made.interval.high <= 1 + LIMIT_PCT / 100 and kind not in DIFFERENT)
    same, worse = kinds[0.0], VerdictKind.SLOWER
    cells = [
        share(one is worse for one in same),
        share(one in DIFFERENT for one in same),
        share(within),
        *(share(one is worse for one in kinds[pct]) for pct in PLANTED_PCT),
        share(covers),
    ]
    return f"| {_counts(row.counts)} | {row.kind.name} | {row.scatter_pct:g} % | {_joined(cells)} |"


def levels(kind: ProcessKind, counts: Sequence[int], comparisons: int) -> str:
    """Return a row of the second table: how often the interval of one side's level covers it."""
    rng = np.random.default_rng([32, PROCESS_KINDS.index(kind)])
    truth = float(np.median(kind.levels(rng, 200_000, 1)))
    cells = []
    for count in counts:
        drawn = 1.0 + 0.02 * kind.levels(rng, comparisons, count)[:, :, 0]
        held = (level_of_processes(list(one)) for one in drawn)
        level = 1.0 + 0.02 * truth
        cells.append(share(one is not None and one.low <= level <= one.high for one in held))
    return f"| {kind.name} | {_joined(cells)} |"


def _counts(counts: tuple[int, int]) -> str:
    first, second = counts
    return f"{first}" if first == second else f"{first} and {second}"


def _joined(cells: Iterable[str]) -> str:
    return " | ".join(cells)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=2000, help="in each row")
    count = parser.parse_args().comparisons
    planted = [f"{pct:g} % found" for pct in PLANTED_PCT]
    print_table(
        f"A limit of {LIMIT_PCT:g} %; {count:,} comparisons a row",
        (
            *("processes a side", "processes", "scatter", "A/A regression, %", "A/A either, %"),
            *("A/A within, %", *planted, "covers, %"),
        ),
        (
            gated(Row(counts, kind, pct, count))
            for counts in COUNTS
            for kind in KINDS
            for pct in SCATTERS_PCT
        ),
    )
    sizes = (2, 3, 5, 6, 10)
    print_table(
        "The interval of a cell's latency holds the level, %",
        ("processes", *map(str, sizes)),
        (levels(kind, sizes, count) for kind in KINDS),
    )


if __name__ == "__main__":
    main()
