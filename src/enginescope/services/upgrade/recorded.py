"""An upgrade between runs that were recorded earlier, at the evidence level that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
from enginescope.analysis.upgrade.layer_differences import layer_differences
from enginescope.analysis.upgrade.metric_rows import (
    failed_row,
    latency_limit_pct,
    look_confidence,
    metric_rows,
    without_wins,
)
from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.analysis.verdicts.job_identity import jobs_of
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredSide, compare_sides
from enginescope.core.errors import UsageError
from enginescope.records.verdict.upgrade import UpgradedModel, UpgradeRow
from enginescope.services.upgrade.evidence import recorded_side
from enginescope.services.upgrade.outputs import recorded_outputs
from enginescope.services.verdicts.run_selection import resolve_runs
from enginescope.store.machine_records import FLOORS, SPREADS

if TYPE_CHECKING:
    from enginescope.judge.notice import Notice
    from enginescope.records.run.run import Run
    from enginescope.records.verdict.gate import Limit
    from enginescope.records.verdict.noise_floor import NoiseFloor
    from enginescope.services.measurement.observer import MeasurementObserver
    from enginescope.store.archive import Store


def recorded_pairs(
    old: str, new: str, store: Store, observer: MeasurementObserver
) -> tuple[JobPair, ...]:
    """Return the jobs that two sets of recorded runs have in common.

    Args:
        old, new: As for `resolve_runs`; or ``BUNDLE@old``, ``BUNDLE@new``.

    Raises:
        UsageError: They have no job in common.
        FormatError, StoreError: A file cannot be used, or a run does not exist.
    """
    sides = []
    for name in (old, new):
        bundled = recorded_side(name)
        runs = resolve_runs((name,), store, observer.warn) if bundled is None else bundled
        sides.append(runs)
    pairs = pairs_of(*sides)
    if not pairs:
        raise UsageError(
            f"{old} and {new} have nothing in common",
            why="no job of one has a counterpart in the other",
            hint="name models and two Pythons, to measure both",
        )
    return pairs


def pairs_of(old: Sequence[Run], new: Sequence[Run]) -> tuple[JobPair, ...]:
    """Return the jobs that both sets of runs have."""
    sets = jobs_of(old), jobs_of(new)
    pairs = pair_jobs(sets[0], sets[1], ())
    if len(sets[0]) == len(sets[1]) == 1:  # two logs of one job may name their model differently
        pairs = (JobPair(a=sets[0][0], b=sets[1][0], how="altered"),)
    return tuple(pair for pair in pairs if pair.a and pair.b)


def runs_of(pairs: Sequence[JobPair]) -> tuple[Run, ...]:
    """Return the runs of both sides, each once."""
    runs = (run for pair in pairs for job in (pair.a, pair.b) if job for run in job.runs)
    return tuple({run.id: run for run in runs}.values())


def compare_recorded(
    pairs: Sequence[JobPair],
    limits: Sequence[Limit],
    store: Store,
    observer: MeasurementObserver,
) -> tuple[UpgradedModel, ...]:
    """Compare both sides of each job, at the evidence level that they have."""
    floors = FLOORS.usable(store.path, observer.warn)
    terms = CompareConfig(
        threshold_pct=latency_limit_pct(limits),
        confidence=look_confidence(len(pairs)),
        spreads=SPREADS.usable(store.path, observer.warn),
    )
    return tuple(_compared(pair, limits, floors, terms) for pair in pairs)


def _compared(
    pair: JobPair, limits: Sequence[Limit], floors: Sequence[NoiseFloor], terms: CompareConfig
) -> UpgradedModel:
    assert pair.a is not None
    assert pair.b is not None
    sides = tuple(
        MeasuredSide(label=label, name=name, runs=job.runs)
        for label, name, job in (("old", "old", pair.a), ("new", "new", pair.b))
    )
    job = pair.b.runs[0].job
    rows: tuple[UpgradeRow, ...] = (recorded_outputs(),)
    notices: tuple[Notice, ...] = ()
    if not all(side.measured for side in sides):
        rows += (failed_row(sides, terms.threshold_pct),)
    else:
        comparison = compare_sides(sides, terms, floors)
        rows += without_wins(metric_rows(comparison, limits, terms))
        notices = measured_notices(comparison)
    return UpgradedModel(
        model=job.subject.name,
        backend=str(job.backend),
        rows=rows,
        evidence=evidence_level(*(side.runs for side in sides)),
        old=tuple(run.id for run in pair.a.runs),
        new=tuple(run.id for run in pair.b.runs),
        layers=layer_differences(pair.a.runs, pair.b.runs),
        notices=notices,
    )
