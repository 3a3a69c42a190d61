"""The rounds of an interleaved comparison, from its recorded runs, and as a report states them."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.core.record import Record
from enginescope.judge.comparison.looks import Tally, tally_of
from enginescope.judge.comparison.steady_rounds import uncertainty_pct
from enginescope.judge.experiment import Measured
from enginescope.judge.notice import Notice
from enginescope.judge.samples import frozen
from enginescope.judge.verdict import EvidenceLevel
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
    if any(not run.is_ok for run in runs):
        return None
    return [uncertainty_of(run) for run in runs]


def uncertainty_of(run: Run) -> float | None:
    """Return what the median of a run is known to, in percent; ``None`` without samples."""
    values = measured_of(run).values
    return uncertainty_pct(values) if values is not None and len(values) else None


def recorded_tally(sides: Sequence[Sequence[Run]]) -> Tally | None:
    """Return where a recorded comparison stands; ``None`` where its plan is not known."""
    plan, rounds = plan_of(sides), whole_rounds(sides)
    return None if plan is None else tally_of(plan.rounds, map(uncertainties_of, rounds))


#: Of a process that went well and timed nothing.
_UNTIMED = frozen(())


def measured_of(run: Run) -> Measured[Run]:
    """Return a run as a measurement of the judge."""
    values = run.headline.values_ms if run.headline else _UNTIMED
    if run.shapes is not None:
        values = run.shapes.relative_times
    return Measured(
        source=run,
        values=values if run.is_ok else None,
        failure=None if run.is_ok else run.outcome.message or run.outcome.kind.value,
        is_final=run.outcome.kind is OutcomeKind.UNSUPPORTED,
    )


class MadeReport(Record, frozen=True, kw_only=True):
    """A report, when it was made, and by which command line."""

    notices: tuple[Notice, ...] = ()
    created: str | None = None
    command: str | None = None


class StoredReport(MadeReport, frozen=True, kw_only=True):
    """A report on one comparison.

    Attributes:
        comparison: Of the stored runs, whose tag is ``cmp-`` and this id.
    """

    comparison: str | None = None


class RoundsReport(StoredReport, frozen=True, kw_only=True):
    """A report whose figures come from rounds that count.

    Attributes:
        rounds: Rounds that count.
        measured_rounds: All of them, disturbed ones too.
    """

    rounds: int = 0
    measured_rounds: int = 0
    evidence: EvidenceLevel | None = None
