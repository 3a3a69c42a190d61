"""Rounds of an interleaved comparison: what is asked for, measured and stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.core.record import Record
from enginescope.core.signals import deferred_signals
from enginescope.services.measurement.jobs import JobRequest, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.store.machine_records import FLOORS, SPREADS

if TYPE_CHECKING:
    from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredSide
    from enginescope.records.run.job import Job
    from enginescope.records.run.run import Run
    from enginescope.runner.interleaved import Pacing, Sides
    from enginescope.store.archive import Store


class InterleavedRequest(JobRequest, frozen=True, kw_only=True):
    """Jobs to compare; the first is the base.

    Attributes:
        rounds: Maximum number of rounds; 60 by default.
        continues: Continue the newest recorded comparison of these jobs.
    """

    rounds: int | None = None
    terms: CompareConfig = CompareConfig()
    continues: bool = False


class InterleavedResult(Record, frozen=True, kw_only=True):
    """Result of interleaved rounds.

    Attributes:
        terms: What it was checked against.
        comparison: `None`: no process of some side succeeded.
        is_complete: False: a side failed so often in a row that the rounds ended early.
        not_stored: Which runs are not stored, and why.
    """

    sides: tuple[MeasuredSide, ...]
    terms: CompareConfig
    comparison: MeasuredComparison | None
    is_complete: bool
    not_stored: str | None

    @property
    def failed(self) -> tuple[Run, ...]:
        """The last run of each side without a success."""
        return tuple(side.runs[-1] for side in self.sides if not side.measured)

    @property
    def is_ok(self) -> bool:
        """Whether all sides were measured, no side was given up and every run is stored."""
        return self.comparison is not None and self.is_complete and self.not_stored is None


def run_rounds(
    jobs: tuple[Job, ...],
    looks: tuple[int, ...],
    terms: CompareConfig,
    request: JobRequest,
    store: Store,
    observer: MeasurementObserver,
    *,
    pacing: Pacing | None = None,
    is_decided: Callable[[MeasuredComparison], bool] = lambda interim: interim.is_final,
) -> InterleavedResult:
    """Measure until it is decided or until the last look; every run is stored as it ends.

    Args:
        pacing: What runs a process, whether every round builds, and what was recorded before.
        is_decided: Asked at each look.
    """
    from enginescope.analysis.verdicts.measured_sides import compare_sides
    from enginescope.runner.interleaved import Pacing, is_given_up
    from enginescope.services.verdicts.compare_inputs import named_sides

    floors = FLOORS.usable(store.path, observer.warn)
    terms = replace(terms, spreads=SPREADS.usable(store.path, observer.warn))

    def compared(sides: Sides) -> MeasuredComparison:
        return compare_sides(named_sides(sides), terms, floors)

    def decided(sides: Sides) -> bool:
        interim = compared(sides)
        observer.looked(interim, _complete_rounds(interim))
        return is_decided(interim)

    pacing = replace(
        pacing or Pacing(),
        decided=decided,
        is_vain=lambda sides: compared(sides).is_vain,
        looks=looks,
        seed=jobs[0].workload.seed,
    )
    sides, not_stored = keep_rounds(jobs, pacing, request, store, observer)
    named = named_sides(sides)
    return InterleavedResult(
        sides=named,
        terms=terms,
        comparison=compared(sides) if all(side.measured for side in named) else None,
        is_complete=not is_given_up(sides),
        not_stored=not_stored,
    )


def keep_rounds(
    jobs: tuple[Job, ...],
    pacing: Pacing,
    request: JobRequest,
    store: Store,
    observer: MeasurementObserver,
) -> tuple[Sides, str | None]:
    """Measure jobs in interleaved rounds; every run is stored as it ends.

    Returns:
        sides: As `run_interleaved` returns them.
        not_stored: Which runs are not stored, and why.
    """
    from enginescope.render.verdicts.verdict_phrases import comparison_tag
    from enginescope.runner.interleaved import run_interleaved
    from enginescope.store.run_keeper import RunKeeper

    keeper = RunKeeper(store)

    @deferred_signals()
    def keep(run: Run) -> None:
        assert run.turn is not None
        named = run.of_commit(request.commit)
        keeper.keep(named, (*request.tags, comparison_tag(run.turn.comparison)))
        observer.run_ended(named, is_stored=named not in keeper.lost)

    observer.rounds_started(jobs, pacing.looks[-1])
    watcher = observer.turn_watcher
    sides = run_interleaved(jobs, keep, pacing, command=request.command, watcher=watcher)
    return sides, keeper.message


def successful(result: InterleavedResult, observer: MeasurementObserver) -> MeasuredComparison:
    """Return the comparison; warn of runs that are not stored.

    Raises:
        UnsupportedError, BackendError: No process of a side succeeded.
    """
    if result.not_stored is not None:
        observer.warn(result.not_stored)
    for run in result.failed:
        raise_unless_ok(run)
    assert result.comparison is not None
    return result.comparison


def _complete_rounds(comparison: MeasuredComparison) -> int:
    rounds = [{run.turn.round for run in side.measured if run.turn} for side in comparison.sides]
    return len(set.intersection(*rounds))
