"""An upgrade between runs that were recorded earlier, at the evidence level that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
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
from enginescope.services.store_access import floors_at, spreads_at
from enginescope.services.upgrade.outputs import recorded_outputs
from enginescope.services.verdicts.run_selection import resolve_runs

if TYPE_CHECKING:
    from enginescope.records.notice import Notice
    from enginescope.records.verdict.gate import Limit
    from enginescope.records.verdict.noise_floor import NoiseFloor
    from enginescope.services.measurement.observer import MeasurementObserver
    from enginescope.store.archive import Store


def compare_recorded(
    old: str,
    new: str,
    limits: Sequence[Limit],
    store: Store,
    observer: MeasurementObserver,
) -> tuple[UpgradedModel, ...]:
    """Compare each job that two sets of recorded runs have in common.

    Raises:
        UsageError: They have no job in common.
        FormatError, StoreError: A file cannot be used, or a run does not exist.
    """
    sets = [jobs_of(resolve_runs((what,), store, observer.warn)) for what in (old, new)]
    pairs = pair_jobs(sets[0], sets[1], ())
    if len(sets[0]) == len(sets[1]) == 1:  # two logs of one job may name their model differently
        pairs = (JobPair(a=sets[0][0], b=sets[1][0], how="altered"),)
    both = [pair for pair in pairs if pair.a and pair.b]
    if not both:
        raise UsageError(
            f"nothing in common of {old} and {new}",
            why="no job of one has a counterpart in the other",
            hint="name models and two Pythons, to measure both",
        )
    floors = floors_at(store, observer.warn)
    terms = CompareConfig(
        threshold_pct=latency_limit_pct(limits),
        confidence=look_confidence(len(both)),
        spreads=spreads_at(store, observer.warn),
    )
    return tuple(_compared(pair, limits, floors, terms) for pair in both)


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
        notices=notices,
    )
