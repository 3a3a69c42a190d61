"""The rounds of an interleaved comparison, from the runs that it recorded."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.judge.comparison.looks import Tally, tally_of
from enginescope.judge.comparison.steady_rounds import uncertainty_pct
from enginescope.judge.experiment import Measured
from enginescope.judge.samples import frozen
from enginescope.records.progress import RoundPlan
from enginescope.records.run.run import OutcomeKind, Run


def comparison_id(sides: Sequence[Sequence[Run]]) -> str | None:
    """Return the comparison that runs were recorded for; ``None`` without any."""
    return next((run.turn.comparison for side in sides for run in side if run.turn), None)


def plan_of(sides: Sequence[Sequence[Run]]) -> RoundPlan | None:
    """Return what a comparison was started with; ``None``: it does not say."""
    return next((run.turn.plan for side in sides for run in side if run.turn), None)


def whole_rounds(sides: Sequence[Sequence[Run]]) -> tuple[tuple[Run, ...], ...]:
    """Return the rounds in which every side has a run; one that was interrupted has not."""
    by_round = [{run.turn.round: run for run in side if run.turn} for side in sides]
    shared = sorted(set.intersection(*map(set, by_round))) if by_round else []
    return tuple(tuple(side[number] for side in by_round) for number in shared)


def uncertainties_of(runs: Sequence[Run]) -> list[float | None] | None:
    """Return what the medians of a round are known to; ``None`` where a process failed."""
    if any(run.outcome.kind is not OutcomeKind.OK for run in runs):
        return None
    return [uncertainty_of(run) for run in runs]


def uncertainty_of(run: Run) -> float | None:
    """Return what the median of a run is known to, in percent; ``None`` without samples."""
    values = measured_of(run).values
    return uncertainty_pct(values) if values is not None and len(values) else None


def recorded_tally(sides: Sequence[Sequence[Run]]) -> Tally | None:
    """Return where a recorded comparison stands; ``None`` where its plan is not known."""
    plan = plan_of(sides)
    return (
        None if plan is None else tally_of(plan.rounds, map(uncertainties_of, whole_rounds(sides)))
    )


#: Of a process that went well and timed nothing.
_UNTIMED = frozen(())


def measured_of(run: Run) -> Measured[Run]:
    """Return a run as a measurement of the judge."""
    is_ok = run.outcome.kind is OutcomeKind.OK
    headline = run.headline if is_ok else None
    values = headline.values_ms if headline else _UNTIMED
    if run.shapes is not None:
        values = run.shapes.relative_times
    return Measured(
        source=run,
        values=values if is_ok else None,
        failure=None if is_ok else run.outcome.message or run.outcome.kind.value,
        is_final=run.outcome.kind is OutcomeKind.UNSUPPORTED,
    )
