"""Print how often the intervals of the variation of builds, processes and iterations cover.

``python benchmarks/statistics/lottery.py [--sets 1000]``. Each data set has builds, processes and
600 iterations with planted standard deviations. An iteration's own is 2 %, and with autocorrelation
a first-order process of coefficient 0.6. What a median of such iterations varies by is known. The
last column counts intervals between builds that reach down to 0: where builds are the same, a
smaller share than 95 % would invent a variation.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from printed import print_table

from enginescope.judge.stats.nested_variance import process_figure, variance_components

ITERATIONS = 600
ITERATION_SD = 0.02


class Row(NamedTuple):
    """Standard deviations between builds and processes, and how many there are."""

    build_sd: float
    process_sd: float
    builds: int
    processes: int
    phi: float
    sets: int

    @property
    def median_sd(self) -> float:
        """Standard deviation of a median of normal iterations, asymptotically."""
        lags = range(-400, 401)
        total = sum(math.asin(self.phi ** abs(lag)) for lag in lags)
        return ITERATION_SD * math.sqrt(total / ITERATIONS)


def iterations(row: Row, rng: np.random.Generator) -> np.ndarray:
    """Return processes of one build, as logarithms about its level."""
    noise = rng.standard_normal((row.processes, ITERATIONS))
    if row.phi:
        for at in range(1, ITERATIONS):
            own = math.sqrt(1 - row.phi**2) * noise[:, at]
            noise[:, at] = row.phi * noise[:, at - 1] + own
    return ITERATION_SD * noise


def row_of(row: Row) -> str:
    """Return a row of the table, in Markdown."""
    rng = np.random.default_rng(
        [67, int(1e5 * row.build_sd), int(1e5 * row.process_sd), row.builds]
    )
    truth = (row.build_sd, row.process_sd, row.median_sd)
    covered, means, none = np.zeros(3), np.zeros(3), 0
    for _ in range(row.sets):
        builds = []
        for _ in range(row.builds):
            levels = row.build_sd * rng.standard_normal()
            levels = levels + row.process_sd * rng.standard_normal((row.processes, 1))
            builds.append([process_figure(one) for one in np.exp(levels + iterations(row, rng))])
        found = variance_components(builds)
        for at, (component, sd) in enumerate(zip(found, truth, strict=True)):
            covered[at] += component.low_pct <= 100 * math.expm1(sd) <= component.high_pct
            means[at] += component.variance / row.sets
        none += found[0].low_pct == 0
    ratios = [f"{mean / sd**2:.2f}" if sd else "—" for mean, sd in zip(means, truth, strict=True)]
    cells = [
        f"{100 * row.build_sd:g} %",
        f"{100 * row.process_sd:g} %",
        f"{row.builds} × {row.processes}",
        f"{row.phi:g}",
        *(f"{100 * count / row.sets:.1f}" for count in covered),
        *ratios,
        f"{100 * none / row.sets:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


HEADERS = (
    "between builds",
    "between processes",
    "builds × processes",
    "autocorrelation",
    "build covered",
    "process covered",
    "iteration covered",
    "build ÷ planted",
    "process ÷ planted",
    "iteration ÷ planted",
    "interval of builds holds 0",
)
PLANTED = (
    (0.02, 0.004, 10, 3, 0.0),
    (0.02, 0.01, 6, 3, 0.0),
    (0.01, 0.003, 10, 3, 0.6),
    (0.005, 0.005, 10, 3, 0.0),
    (0.003, 0.005, 10, 5, 0.0),
    (0.0, 0.005, 10, 3, 0.0),
    (0.0, 0.005, 5, 2, 0.6),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1_000, help="data sets of each row")
    sets = parser.parse_args().sets
    with ProcessPoolExecutor() as pool:
        rows = pool.map(row_of, [Row(*planted, sets) for planted in PLANTED])
        print_table(f"{sets:,} data sets a row; covered in percent", HEADERS, rows)


if __name__ == "__main__":
    main()
