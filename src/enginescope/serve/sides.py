"""Two stored runs as the sides of a comparison."""

from __future__ import annotations

from pathlib import Path

from enginescope.analysis.plan_comparison.comparison import Comparison, compare
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.measured_sides import (
    MeasuredComparison,
    MeasuredSide,
    compare_sides,
)
from enginescope.core.errors import FormatError, StoreError, UsageError
from enginescope.records.run.run import Run
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.render.verdicts.verdict_phrases import side_names
from enginescope.store.noise_floors import read_floors


def comparison_of(
    a: Run, b: Run, folder: Path
) -> tuple[MeasuredComparison | None, Comparison | None]:
    """Return verdicts, where both were measured, and what explains them, where both have a plan.

    Args:
        folder: Of noise floors.

    Raises:
        UsageError: There can be neither.
    """
    runs = (a, b)
    names = side_names([run.job for run in runs])
    if len(set(names)) < len(names):
        names = [f"{name} ({one.id[:6]})" for name, one in zip(names, runs, strict=True)]
    measured = plans = None
    if all(run.headline is not None for run in runs):
        sides = [
            MeasuredSide(label=label, name=name, runs=(one,))
            for label, name, one in zip("AB", names, runs, strict=True)
        ]
        measured = compare_sides(sides, CompareConfig(), _floors(folder))
    if all(run.plan is not None for run in runs):
        plans = compare(list(runs), names=names, plan_profile=0)
    if measured is None and plans is None:
        raise UsageError(
            "these two runs cannot be compared",
            why="neither were both measured, nor have both a plan",
            hint="choose two that went well",
        )
    return measured, plans


def _floors(folder: Path) -> tuple[NoiseFloor, ...]:
    try:
        return read_floors(folder)
    except (FormatError, StoreError):  # verdicts are given without, and more carefully
        return ()
