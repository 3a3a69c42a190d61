"""Two sets of runs, job by job: what got worse than is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from enginescope.analysis.comparability import CONDITIONS, differences
from enginescope.analysis.fitting_floor import fitting_floor
from enginescope.analysis.flaky_baseline import flaky_baseline
from enginescope.analysis.gate_metrics import GATED_FIGURES, HEADLINE, figure_of
from enginescope.analysis.job_identity import JobRuns, jobs_of, labels_of
from enginescope.analysis.job_pairs import JobPair, pair_jobs
from enginescope.analysis.measured_notices import measured_notices
from enginescope.analysis.measured_sides import (
    MeasuredComparison,
    MeasuredPair,
    MeasuredSide,
    comparison_of,
    meant_conditions,
)
from enginescope.analysis.run_view import RunView
from enginescope.analysis.terms import Terms
from enginescope.analysis.verdicts import verdicts
from enginescope.model.gate import GateOutcome, GateReport, GateRow, GateTerms, Limit
from enginescope.model.noise_floor import NoiseFloor
from enginescope.model.notice import Notice
from enginescope.model.run import Run
from enginescope.model.verdict import Reason, Verdict, VerdictKind
from enginescope.stats.deciding import LOOK_CONFIDENCE
from enginescope.stats.limit import AgainstLimit, against_limit

_SIDES = ("the baseline", "the current side")
#: Notices that say the same of every job.
_OF_ALL = frozenset({"I-NOT-IN-TURN", "I-ASSUMED-SCATTER", "I-FEW-PROCESSES"})
#: What a flaky baseline is said to be in its own words.
_SAID_BY_FLAKY = frozenset({"W-DRIFT", "W-BIMODAL"})
_ORDER = {outcome: place for place, outcome in enumerate(GateOutcome)}


def gate(
    baseline: Sequence[Run],
    current: Sequence[Run],
    terms: GateTerms | None = None,
    *,
    name: str = "baseline",
    floors: Sequence[NoiseFloor] = (),
) -> GateReport:
    """Hold the jobs of `current` against those of `baseline`.

    Parameters
    ----------
    baseline, current : sequence of Run
        Runs of one job are its processes.
    terms : GateTerms, optional
    name : str
        What the baseline is called.
    floors : sequence of NoiseFloor
        Recorded ones; the fitting one says how processes scatter where a side has one alone.

    Raises
    ------
    UsageError
        A condition in ``terms.across`` that there is not.
    """
    terms = terms or GateTerms()
    differences((), (), across=terms.across)
    pairs = pair_jobs(jobs_of(baseline), jobs_of(current), terms.across)
    labels = labels_of([one.identity for one in pairs])
    rows = [
        row
        for pair, label in zip(pairs, labels, strict=True)
        for row in _rows(_Job(pair, label), terms, floors)
    ]
    shared = {one.code: one for row in rows for one in row.notices if one.code in _OF_ALL}
    newest = max(current, key=lambda one: one.created, default=None)
    return GateReport(
        baseline=name,
        terms=terms,
        rows=tuple(
            sorted(map(_without_shared, rows), key=lambda one: _ORDER[one.outcome])  # stable
        ),
        jobs=len(pairs),
        notices=(*shared.values(), *_own_scatter(rows), *_renamed(pairs)),
        measured=newest.created if newest else None,
        host=newest.environment.host.name if newest else None,
    )


class _Job(NamedTuple):
    """A pair of jobs and what it is called."""

    pair: JobPair
    label: str

    def row(self, outcome: GateOutcome, **more: Any) -> GateRow:
        """Return a row of it."""
        pair = self.pair
        newest = (pair.b or pair.a or JobRuns(identity=pair.identity, runs=())).runs[-1]
        return GateRow(
            job=self.label,
            model=newest.job.subject.name,
            backend=str(newest.job.backend),
            outcome=outcome,
            baseline=tuple(one.id for one in pair.a.runs) if pair.a else (),
            current=tuple(one.id for one in pair.b.runs) if pair.b else (),
            path=newest.job.subject.path,
            **more,
        )


def _rows(job: _Job, terms: GateTerms, floors: Sequence[NoiseFloor]) -> Iterator[GateRow]:
    a, b = job.pair.a, job.pair.b
    yield from _whole(job)
    if a and b and a.measured and b.measured:
        yield from _compared(job, terms, floors)


def _whole(job: _Job) -> Iterator[GateRow]:
    """Yield what is said of the job as a whole."""
    a, b = job.pair.a, job.pair.b
    if b is None:
        if a is not None and a.measured:
            yield job.row(GateOutcome.LOST, why="the baseline has it, the current runs have not")
        return
    if b.failed:
        yield _failure(job, a, b)
    elif a is None:
        yield job.row(GateOutcome.NEW, why="the baseline does not have it")
    elif not a.measured:
        why = f"it failed in the baseline: {_message(a.failed[-1])}"
        yield job.row(GateOutcome.FIXED, why=why)


def _failure(job: _Job, a: JobRuns | None, b: JobRuns) -> GateRow:
    """Return the row of a job that fails now; not a new one where it failed before as well."""
    count = f"{len(b.failed)} of {len(b.runs)} processes failed: " if len(b.runs) > 1 else ""
    why = f"{count}{_message(b.failed[-1])}"
    known = a is not None and a.failed and (b.measured or not a.measured)
    return job.row(GateOutcome.STILL_FAILING if known else GateOutcome.NEW_FAILURE, why=why)


def _message(run: Run) -> str:
    kind = run.outcome.kind.value.replace("_", " ")
    return f"{kind}: {run.outcome.message}" if run.outcome.message else kind


def _compared(job: _Job, terms: GateTerms, floors: Sequence[NoiseFloor]) -> Iterator[GateRow]:
    """Yield a row for each metric of a job that both sides measured."""
    sides = _sides(job)
    floor = fitting_floor([one.measured for one in sides], floors)
    comparison = comparison_of(sides)
    across = tuple(dict.fromkeys((*terms.across, *meant_conditions(*sides))))
    held = Terms(
        across=across,
        scatter_pct=floor.scatter_pct if floor else None,
        confidence=max(terms.confidence, LOOK_CONFIDENCE) if comparison else terms.confidence,
    )
    found = {one.regression_pct: _verdicts(sides, held, one) for one in terms.limits}
    others = [one for one in CONDITIONS if one not in across]
    meant = differences(*(one.measured for one in sides), across=others) if across else ()
    for limit in terms.limits:
        of_limit = found[limit.regression_pct]
        notices = _pairing_notices(job.pair)
        if of_limit:
            pair = MeasuredPair(a=_SIDES[0], b=_SIDES[1], verdicts=of_limit, meant=meant)
            notices += measured_notices(
                MeasuredComparison(
                    sides=sides,
                    pairs=(pair,),
                    threshold_pct=limit.regression_pct,
                    comparison=comparison,
                    floor=floor,
                )
            )
        yield _row(job, limit, of_limit, notices)


def _sides(job: _Job) -> tuple[MeasuredSide, MeasuredSide]:
    pair = job.pair
    assert pair.a is not None
    assert pair.b is not None
    first, second = (
        MeasuredSide(label=label, name=job.label, runs=one.runs)
        for label, one in zip(_SIDES, (pair.a, pair.b), strict=True)
    )
    return first, second


def _verdicts(
    sides: tuple[MeasuredSide, MeasuredSide], held: Terms, limit: Limit
) -> tuple[Verdict, ...]:
    terms = replace(held, threshold_pct=limit.regression_pct)
    return verdicts(sides[0].runs, sides[1].runs, terms, figures=GATED_FIGURES)


def _own_scatter(rows: Sequence[GateRow]) -> Iterator[Notice]:
    """Yield which rows' processes say themselves how they scatter, so that none is assumed."""
    estimates = [one.verdict.estimate for one in rows if one.verdict and one.verdict.estimate]
    counts = [
        min(one.n_a, one.n_b)
        for one in estimates
        if one.method == "processes" and one.interval is not None and not one.is_student
    ]
    if counts:
        least, most = min(counts), max(counts)
        number = f"{least} … {most}" if least < most else f"{least}"
        yield Notice(
            code="I-OWN-SCATTER",
            message=f"{number} processes a side: intervals are of how far these scatter, and no "
            "scatter is assumed",
            evidence={"rows": len(counts), "fewest": least, "most": most},
            level="info",
        )


def _renamed(pairs: Sequence[JobPair]) -> Iterator[Notice]:
    for one in pairs:
        if one.how == "renamed" and one.a and one.b:
            before, after = one.a.identity.model, one.b.identity.model
            yield Notice(
                code="I-RENAMED",
                message=f"{before} of the baseline is {after} now: the file is the same",
                evidence={"before": before, "after": after},
                level="info",
            )


def _pairing_notices(pair: JobPair) -> tuple[Notice, ...]:
    told = pair.how == "renamed"  # of the whole report
    changes = tuple(one for one in pair.changes if not (told and one.startswith("model:")))
    if not changes:
        return ()
    code = "I-ALTERED" if pair.how == "altered" else "I-MEANT"
    return (Notice(code=code, message="; ".join(changes), level="info"),)


def _row(job: _Job, limit: Limit, found: Sequence[Verdict], notices: tuple[Notice, ...]) -> GateRow:
    metric, limit_pct = limit.metric, limit.regression_pct
    assert job.pair.a is not None
    assert job.pair.b is not None
    before, after = job.pair.a.measured, job.pair.b.measured
    verdict = next((one for one in found if one.metric == _tag(metric, before)), None)
    if verdict is None:
        outcome, why = _missing(metric, before, after)
        return job.row(outcome, metric=metric, limit_pct=limit_pct, why=why)
    flaky = flaky_baseline(before, metric, limit_pct)
    if flaky is not None:
        kept = tuple(one for one in notices if one.code not in _SAID_BY_FLAKY)
        notices = (flaky, *kept)
    return job.row(
        _outcome(verdict, limit_pct),
        metric=metric,
        limit_pct=limit_pct,
        verdict=verdict,
        why=verdict.detail,
        notices=notices,
    )


def _tag(metric: str, runs: Sequence[Run]) -> str:
    """Return the metric that a verdict is called by: the headline's own."""
    headline = runs[0].headline
    return headline.metric if metric == HEADLINE and headline is not None else metric


def _missing(
    metric: str, before: Sequence[Run], after: Sequence[Run]
) -> tuple[GateOutcome, str | None]:
    if not _has(metric, before):
        return GateOutcome.NO_BASELINE, _why_missing(metric, "the baseline")
    if not _has(metric, after):
        return GateOutcome.LOST, _why_missing(metric, "the current side")
    return GateOutcome.INCOMPARABLE, "the sides did not time the same thing"


def _why_missing(metric: str, side: str) -> str:
    if metric.startswith("p") and metric[1:].isdecimal():
        return f"{side} has too few samples for it"
    return f"{side} does not have it"


def _has(metric: str, runs: Sequence[Run]) -> bool:
    figure, views = figure_of(metric), [RunView(one) for one in runs]
    if figure is not None:
        return all(figure.of(one) is not None for one in views)
    if metric == HEADLINE:
        return all(one.latency is not None for one in views)
    return all(one.summary(metric) is not None for one in views)


def _outcome(verdict: Verdict, limit_pct: float) -> GateOutcome:
    if verdict.kind is not VerdictKind.UNDECIDED:
        return _OUTCOMES[verdict.kind]
    if verdict.reason is Reason.INTERVAL_TOO_WIDE and verdict.estimate is not None:
        place = against_limit(
            verdict.estimate, limit_pct, higher_is_better=verdict.higher_is_better
        )
        if place is AgainstLimit.WITHIN:
            return GateOutcome.NO_REGRESSION
    return GateOutcome.UNDECIDED


_OUTCOMES = {
    VerdictKind.SLOWER: GateOutcome.REGRESSION,
    VerdictKind.FASTER: GateOutcome.IMPROVEMENT,
    VerdictKind.SAME: GateOutcome.NO_REGRESSION,
    VerdictKind.INCOMPARABLE: GateOutcome.INCOMPARABLE,
}


def _without_shared(row: GateRow) -> GateRow:
    kept = tuple(one for one in row.notices if one.code not in _OF_ALL)
    return replace(row, notices=kept)
