"""Two files of many benchmarks, compared by the names of the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.core.errors import UsageError
from enginescope.records.verdict.named import NamedComparison, NamedVerdict
from enginescope.services.plans.plan_input import input_of_run
from enginescope.services.verdicts.compare_inputs import ComparedSide, holds_times

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.services.verdicts.run_selection import RunsInput

_SIDES = 2


def named_sides(inputs: Sequence[RunsInput]) -> tuple[dict[str, Run], dict[str, Run]] | None:
    """Return the benchmarks of two files by name; ``None`` if these are not two such files.

    Names that a file has twice do not tell benchmarks apart.
    """
    from enginescope.formats.importing.importer import import_artifacts

    if len(inputs) != _SIDES:
        return None
    sides = []
    for given in inputs:
        name = given[0] if len(given) == 1 else None
        if not isinstance(name, str) or not Path(name).is_file() or not holds_times(Path(name)):
            return None
        runs = import_artifacts([Path(name)]).runs
        named = {run.job.subject.name: run for run in runs}
        if len(named) < len(runs):
            return None
        sides.append(named)
    a, b = sides
    return (a, b) if max(len(a), len(b)) > 1 else None


def compared_by_name(
    a: dict[str, Run], b: dict[str, Run], *, threshold_pct: float | None
) -> NamedComparison:
    """Compare the benchmarks that both sides have."""
    from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT, CompareConfig
    from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides

    names = [name for name in a if name in b]
    if not names:
        raise UsageError(
            "the files have no benchmark in common",
            why=f"A has {next(iter(a))} …, B has {next(iter(b))} …",
            hint="compare files of the same benchmarks",
        )
    config = CompareConfig(threshold_pct=THRESHOLD_PCT if threshold_pct is None else threshold_pct)
    rows, without = [], []
    for name in names:
        pair = [
            ComparedSide(what=label, source=input_of_run(run), runs=(run,))
            for label, run in (("A", a[name]), ("B", b[name]))
        ]
        if not all(side.is_measured for side in pair):
            without.append(name)
            continue
        sides = tuple(
            MeasuredSide(label=side.what, name=side.what, runs=side.runs) for side in pair
        )
        rows.append(NamedVerdict(name=name, verdict=compare_sides(sides, config).pairs[0].headline))
    return NamedComparison(
        rows=tuple(rows),
        only_a=tuple(name for name in a if name not in b),
        only_b=tuple(name for name in b if name not in a),
        without_figures=tuple(without),
    )
