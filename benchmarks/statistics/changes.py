"""How often `history` sees a change of level where there is none, and where there is one.

Medians of a job, one a sitting, that scatter by a standard deviation of 1 %; a threshold of 1 %.

    python benchmarks/statistics/changes.py [SERIES]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from enginescope.judge.comparison.change_points import change_points

SCATTER = 0.01
THRESHOLD_PCT = 1.0
LENGTHS = (12, 30, 100)
AFTER = (15, 5, 3)
STEPS_PCT = (2, 3, 5)


def alike(draw: Any, n: int) -> Any:
    """Return values each of which is half the one before it."""
    values = np.zeros(n)
    for at, step in enumerate(draw.standard_normal(n)):
        values[at] = (0.5 * values[at - 1] if at else 0.0) + np.sqrt(0.75) * step
    return values


NOISES: dict[str, Callable[[Any, int], Any]] = {
    "normal": lambda draw, n: draw.standard_normal(n),
    "Student t, 2 degrees": lambda draw, n: 0.6 * draw.standard_t(2, n),
    "5 % of them six times as far": lambda draw, n: (
        draw.standard_normal(n) * np.where(draw.random(n) < 0.05, 6, 1)
    ),
    "two levels": lambda draw, n: (
        np.where(draw.random(n) < 0.3, 2, -0.9) + 0.2 * draw.standard_normal(n)
    ),
    "exponential": lambda draw, n: draw.exponential(1, n) - 1,
    "AR(1) 0.5": alike,
}


def sure(logs: Any) -> list[int]:
    found = change_points(4.0 * np.exp(SCATTER * logs), threshold_pct=THRESHOLD_PCT)
    return [one.at for one in found if one.is_sure]


def main(series: int) -> None:
    draw = np.random.default_rng(0)
    print(f"| no change, {series} series each: a change is seen in % | n = 12 | n = 30 | n = 100 |")
    print("|---|---|---|---|")
    for name, noise in NOISES.items():
        shares = [
            100 * np.mean([bool(sure(noise(draw, n))) for _ in range(series)]) for n in LENGTHS
        ]
        print(f"| {name} | {' | '.join(f'{one:.1f}' for one in shares)} |")
    print()
    print("| change after which so many of 30 sittings follow: found in % | 15 | 5 | 3 |")
    print("|---|---|---|---|")
    for step_pct in STEPS_PCT:
        shares = [100 * np.mean([_found(draw, step_pct, k) for _ in range(series)]) for k in AFTER]
        print(f"| {step_pct} % | {' | '.join(f'{one:.0f}' for one in shares)} |")


def _found(draw: Any, step_pct: int, after: int) -> bool:
    logs = draw.standard_normal(30)
    logs[-after:] += step_pct / 100 / SCATTER
    cuts = sure(logs)
    return len(cuts) == 1 and abs(cuts[0] - (30 - after)) <= 1


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
