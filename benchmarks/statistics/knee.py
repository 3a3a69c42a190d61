"""How often the interval of a knee holds the planted knee, and noise alone makes a slower shape.

``python benchmarks/statistics/knee.py``: 1,000 data sets a row, six shapes, levels of processes
drawn around the planted times.
"""

from __future__ import annotations

import numpy as np

from enginescope.analysis.shapes.levels import cliffs_of, knee_of
from enginescope.records.run.job import ShapePoint, Workload

SIZES = (1, 2, 4, 8, 16, 32)
#: Planted knee -> latency of each size: throughput doubles below it, then grows by 3 %, 3 %, …
KNEES = {2: 1, 8: 3}
GAIN_PCT = 10.0
DATA_SETS = 1_000


def times_of(place: int) -> np.ndarray:
    """Return latencies whose knee is at a place."""
    rates = [2.0**at if at <= place else 2.0**place * 1.02 ** (at - place) for at in range(6)]
    return np.array(SIZES) / np.array(rates)


def main() -> None:
    """Print a row for each knee, noise and number of processes."""
    points = [
        ShapePoint(label=str(size), size=size, items=size, workload=Workload()) for size in SIZES
    ]
    print("knee  noise %  processes  held %  decided %  slower shapes %")
    for knee, place in KNEES.items():
        for noise in (0.01, 0.05, 0.1):
            for processes in (5, 8, 16):
                draw = np.random.default_rng([knee, int(1e3 * noise), processes])
                held = decided = slower = 0
                for _ in range(DATA_SETS):
                    levels = np.exp(noise * draw.standard_normal((processes, 6)))
                    medians = [dict(enumerate(row)) for row in times_of(place) * levels]
                    found = knee_of(points, medians, GAIN_PCT)
                    ends = int(found.low or 0), int(found.high or SIZES[-1])
                    held += ends[0] <= knee <= ends[1]
                    decided += found.is_decided
                    flat = [dict(enumerate(row)) for row in levels]
                    slower += bool(cliffs_of(points, flat))
                shares = (f"{100 * count / DATA_SETS:.1f}" for count in (held, decided, slower))
                print(f"{knee:4} {100 * noise:8.0f} {processes:10}", *(f"{s:>9}" for s in shares))


if __name__ == "__main__":
    main()
