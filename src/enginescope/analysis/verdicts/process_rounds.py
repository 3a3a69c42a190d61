"""The processes of two sides round by round, and what each knows of its own median."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from enginescope.analysis.runs.run_view import RunView
from enginescope.stats.comparison.steady_rounds import Disturbances, disturbances, uncertainty_pct
from enginescope.stats.stability import WIDE_PCT

T = TypeVar("T")

Side = tuple[RunView, ...]
Sides = tuple[Side, Side]


def rounds_of(sides: Sides, figures: Sequence[Sequence[T]]) -> tuple[list[T], list[T]] | None:
    """Return both sides' figures round by round, of rounds that both have; else ``None``."""
    turns = [[view.run.turn for view in side] for side in sides]
    names = {turn.comparison if turn else None for side in turns for turn in side}
    if len(names) != 1 or None in names:
        return None
    by_round = [
        {turn.round: figure for turn, figure in zip(side, row, strict=True) if turn}
        for side, row in zip(turns, figures, strict=True)
    ]
    shared = sorted(by_round[0].keys() & by_round[1].keys())
    if not shared:
        return None
    first, second = ([side[one] for one in shared] for side in by_round)
    return first, second


def uncertainties_pct(side: Side, metric: str) -> list[float | None]:
    """Return what each process' median is known to, ± in percent; ``None``: too few samples."""
    series = (view.run.series(metric) for view in side)
    return [None if one is None else uncertainty_pct(one.values_ms) for one in series]


def disturbances_of(sides: Sides, metric: str) -> Disturbances:
    """Return which of the rounds that both sides have count, and which side disturbed others."""
    rounds = rounds_of(sides, [uncertainties_pct(side, metric) for side in sides])
    return disturbances(rounds or ((), ()))


def is_unstable(sides: Sides, metric: str) -> bool:
    """Whether the medians of half of the processes of a side are hardly known."""
    known = (uncertainties_pct(side, metric) for side in sides)
    wide = ([one is not None and one > WIDE_PCT for one in side] for side in known)
    return any(2 * sum(side) >= len(side) for side in wide)
