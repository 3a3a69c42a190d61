"""How long a cell may take that is done elsewhere, before whoever sent it gives it up."""

from __future__ import annotations

from enginescope.records.suite.suite import Cell
from enginescope.runner.engines import makes_first

#: Beside what a cell may take by itself: starting, and sending back.
_BESIDE_S = 120.0
#: Where answers are compared, a cell and its reference each say what they take, and answer.
_SIDES, _ANSWERING = 2, 4


def longest_s(cell: Cell) -> float:
    """Return how long a cell may take at most: all its processes, each up to its limits."""
    limits = cell.job.limits
    each_s = limits.timeout_s
    build_s = limits.build_timeout_s if makes_first(cell.job) else 0.0
    attempts = cell.processes * (1 + cell.retries) if cell.mode != "validate" else 0
    answering_s = _ANSWERING * each_s + _SIDES * build_s if cell.mode != "benchmark" else 0.0
    return attempts * (each_s + build_s) + answering_s + _BESIDE_S
