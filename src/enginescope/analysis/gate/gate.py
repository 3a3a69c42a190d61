"""Two sets of runs, job by job: what got worse than is allowed, and whether anything compared."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from enginescope.analysis.gate.gate_notices import (
    RowAt,
    flaky_baseline,
    gate_notices,
    rows_of_whole_gate,
)
from enginescope.analysis.gate.job_pairs import JobPair, pair_jobs
from enginescope.analysis.runs.run_view import Runs, RunView
from enginescope.analysis.verdicts import measured_sides
from enginescope.analysis.verdicts.comparability import (
    CONDITIONS,
    CompareConfig,
    Difference,
    differences,
)
from enginescope.analysis.verdicts.compared_figures import HEADLINE, process_value
from enginescope.analysis.verdicts.job_identity import JobRuns, jobs_of, labels_of, shift_between
from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.verdicts import verdict_on
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS_ERROR
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import Verdict, VerdictKind
from enginescope.records.run.run import Run
from enginescope.records.verdict.gate import GateOutcome, GateReport, GateRow, GateTerms, Limit
from enginescope.records.verdict.lottery import BuildSpread
from enginescope.records.verdict.noise import NoiseFloor

_SIDES = ("the baseline", "the current side")
#: Notices that say the same of every job.
_OF_ALL = frozenset({"I-NOT-IN-TURN", "I-ASSUMED-SCATTER", "I-FEW-PROCESSES"})


def gate(
    baseline: Runs,
    current: Runs,
    terms: GateTerms | None = None,
    *,
    name: str = "baseline",
    floors: Sequence[NoiseFloor] = (),
    history: Runs = (),
    spreads: Sequence[BuildSpread] = (),
    measurements: int = 1,
    begun: Collection[str] = (),
) -> GateReport:
    """Compare the jobs of `current` with those of `baseline`.

    Args:
        baseline, current: Runs of one job are its processes.
        name: What the baseline is called.
        floors: Recorded ones; the fitting one says how processes scatter where a side has one
            alone.
        history: Earlier runs of the same jobs, which show how much sessions differ.
        spreads: Recorded variation between builds.
        measurements: How often an inconclusive job may be measured in all; each measurement gets an
            equal part of the error rate. A comparison's looks allow for its further rounds already.
        begun: Comparisons that were begun because a job was inconclusive.

    Raises:
        UsageError: An unknown condition in ``terms.across``, or a limit or confidence out of range.
    """
    terms = terms or GateTerms()
    if not 0.5 <= terms.confidence <= 0.9999:
        raise UsageError(f"confidence {terms.confidence:g}", why="not within 0.5 … 0.9999")
    differences((), (), across=terms.across)
    pairs = pair_jobs(jobs_of(baseline), jobs_of(current), terms.across)
    labels = labels_of([one.identity for one in pairs])
    known = _Known(floors, history, tuple(spreads), measurements, begun)
    jobs = [_Job(pair, label) for pair, label in zip(pairs, labels, strict=True)]
    tests = [test for job in jobs for test in _tests(job, terms, known)]
    tested = rows_of_whole_gate(tests, terms.confidence)
    rows = [*(row for job in jobs for row in _whole(job)), *tested]
    said = [notice for row in rows for notice in row.notices if notice.code in _OF_ALL]
    # of rows with several confidences, the one that needs most speaks for all
    shared = {one.code: one for one in sorted(said, key=lambda one: one.evidence.get("needed", 0))}
    notices = ([it for it in row.notices if it.code not in _OF_ALL] for row in rows)
    own = [replace(row, notices=tuple(left)) for row, left in zip(rows, notices, strict=True)]
    newest = max(current, key=lambda one: one.created, default=None)
    return GateReport(
        baseline=name,
        terms=terms,
        rows=tuple(row for outcome in GateOutcome for row in own if row.outcome is outcome),
        jobs=len(pairs),
        notices=(*shared.values(), *gate_notices(rows, terms), *_renamed(pairs)),
        measured=newest.created if newest else None,
        host=newest.environment.host.name if newest else None,
        place=newest.environment.place if newest else "",
    )


class _Job(NamedTuple):
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
            baseline=tuple(run.id for run in pair.a.runs) if pair.a else (),
            current=tuple(run.id for run in pair.b.runs) if pair.b else (),
            path=newest.job.subject.path,
            **more,
        )


def _whole(job: _Job) -> Iterator[GateRow]:
    a, b = job.pair.a, job.pair.b
    if b is None:
        if a is not None and a.measured:
            yield job.row(GateOutcome.LOST, why="the baseline has it, the current runs do not")
        return
    if b.failed:
        count = f"{len(b.failed)} of {len(b.runs)} processes failed: " if len(b.runs) > 1 else ""
        # not a new failure where it failed before as well
        known = a is not None and a.failed and (b.measured or not a.measured)
        outcome = GateOutcome.STILL_FAILING if known else GateOutcome.NEW_FAILURE
        yield job.row(outcome, why=f"{count}{failure_text(b.failed[-1])}")
    elif a is None:
        yield job.row(GateOutcome.NEW, why="the baseline does not have it")
    elif not a.measured:
        why = f"it failed in the baseline: {failure_text(a.failed[-1])}"
        yield job.row(GateOutcome.FIXED, why=why)


def failure_text(run: Run) -> str:
    """Return how a run ended, and its message if it has one."""
    kind = run.outcome.kind.value.replace("_", " ")
    return f"{kind}: {run.outcome.message}" if run.outcome.message else kind


class _Known(NamedTuple):
    floors: Sequence[NoiseFloor]
    history: Runs
    spreads: tuple[BuildSpread, ...]
    measurements: int
    begun: Collection[str]


def _tests(job: _Job, terms: GateTerms, known: _Known) -> Iterator[RowAt]:
    a, b = job.pair.a, job.pair.b
    if not (a and b and a.measured and b.measured):
        return
    sides = (
        measured_sides.MeasuredSide(label=_SIDES[0], name=job.label, runs=a.runs),
        measured_sides.MeasuredSide(label=_SIDES[1], name=job.label, runs=b.runs),
    )
    floor = measured_sides.fitting_floor([side.measured for side in sides], known.floors)
    comparison, plan = measured_sides.comparison_of(sides), measured_sides.recorded_plan(sides)
    is_continued = comparison is not None and comparison not in known.begun
    measurements = 1 if is_continued else known.measurements
    named = plan.across if plan is not None else ()
    across = tuple(dict.fromkeys((*terms.across, *named, *measured_sides.meant_conditions(*sides))))
    others = [condition for condition in CONDITIONS if condition not in across]
    meant = differences(a.measured, b.measured, across=others) if across else ()
    pair = measured_sides.MeasuredPair(a=_SIDES[0], b=_SIDES[1], verdicts=(), meant=meant)
    measured = measured_sides.MeasuredComparison(
        sides=sides, pairs=(pair,), threshold_pct=0.0, comparison=comparison, floor=floor
    )
    for limit in terms.limits:
        held = CompareConfig(
            threshold_pct=limit.regression_pct,
            across=across,
            scatter_pct=floor.scatter_pct if floor else None,
            sessions=shift_between(a.measured, b.measured, limit.metric, known.history),
            spreads=known.spreads,
        )
        yield partial(_row, job, limit, measured, held, measurements)


def _renamed(pairs: Sequence[JobPair]) -> Iterator[Notice]:
    for pair in pairs:
        if pair.how == "renamed" and pair.a and pair.b:
            before, after = pair.a.identity.model, pair.b.identity.model
            yield Notice(
                "I-RENAMED",
                f"{before} of the baseline is {after} now: the file is the same",
                {"before": before, "after": after},
            )


def _pairing_notices(pair: JobPair, meant: Iterable[Difference]) -> tuple[Notice, ...]:
    known = {one.title for one in meant}  # `measured_notices` has these
    if pair.how == "renamed":
        known.add("model")  # and the whole report this one
    changes = [str(change) for change in pair.changes if change.title not in known]
    if not changes:
        return ()
    code = "I-ALTERED" if pair.how == "altered" else "I-MEANT"
    return (Notice(code, "; ".join(changes)),)


def _row(
    job: _Job,
    limit: Limit,
    measured: measured_sides.MeasuredComparison,
    terms: CompareConfig,
    measurements: int,
    whole_share: float,
) -> GateRow:
    """Return the row of a metric.

    All `measurements` together give a false regression in `whole_share` of unchanged rows at most.
    """
    metric, limit_pct, share = limit.metric, limit.regression_pct, whole_share / measurements
    before, after = (side.measured for side in measured.sides)
    confidence = 1 - 2 * share
    if measured.comparison:  # it may have ended at any of its looks
        look_error = 1 - measured_sides.looks_confidence(measured.sides)
        confidence = 1 - look_error * min(1.0, 2 * share / LOOKS_ERROR)
    headline = before[0].headline
    tag = headline.metric if metric == HEADLINE and headline is not None else metric
    verdict = verdict_on(before, after, tag, replace(terms, confidence=confidence))
    if verdict is None:
        outcome, why = _missing(metric, before, after)
        return job.row(outcome, metric=metric, limit_pct=limit_pct, why=why)
    pair = replace(measured.pairs[0], verdicts=(verdict,))
    compared = replace(measured, pairs=(pair,), threshold_pct=limit_pct)
    notices = (*_pairing_notices(job.pair, pair.meant), *measured_notices(compared))
    flaky = flaky_baseline(before, metric, limit_pct, terms)
    if flaky is not None:  # in its own words
        rest = (notice for notice in notices if notice.code not in ("W-DRIFT", "W-BIMODAL"))
        notices = (flaky, *rest)
    return job.row(
        _outcome(verdict),
        metric=metric,
        limit_pct=limit_pct,
        verdict=verdict,
        why=verdict.detail,
        notices=notices,
        sessions=terms.sessions,
        evidence=verdict.evidence,
        differing=tuple(one.key for one in differences(before, after, across=terms.across)),
    )


def _missing(metric: str, before: Runs, after: Runs) -> tuple[GateOutcome, str | None]:
    if not _has(metric, before):
        return GateOutcome.NO_BASELINE, "the baseline does not have it"
    if not _has(metric, after):
        return GateOutcome.LOST, "the current side does not have it"
    return GateOutcome.INCOMPARABLE, "the sides did not time the same thing"


def _has(metric: str, runs: Runs) -> bool:
    return all(process_value(RunView(run), metric) is not None for run in runs)


def _outcome(verdict: Verdict) -> GateOutcome:
    disturbed = verdict.estimate.disturbed if verdict.estimate else None
    is_unstable = disturbed is not None and disturbed.unstable == "b"
    if is_unstable and verdict.kind not in (VerdictKind.SLOWER, VerdictKind.INCOMPARABLE):
        return GateOutcome.UNSTABLE
    if verdict.kind is VerdictKind.INCONCLUSIVE and verdict.rules_out_a_loss:
        return GateOutcome.NO_REGRESSION
    return {
        VerdictKind.SLOWER: GateOutcome.REGRESSION,
        VerdictKind.FASTER: GateOutcome.IMPROVEMENT,
        VerdictKind.SAME: GateOutcome.NO_REGRESSION,
        VerdictKind.INCOMPARABLE: GateOutcome.INCOMPARABLE,
        VerdictKind.INCONCLUSIVE: GateOutcome.INCONCLUSIVE,
    }[verdict.kind]


def check_compared(
    report: GateReport, baseline: Iterable[Run], current: Iterable[Run]
) -> GateReport:
    """Return `report` unless it passes only because nothing was compared.

    Raises:
        UsageError: No job has a metric of the limits on both sides, and nothing fails. Where jobs
            failed, the error has their number, the first reason and the next step.
    """
    if not report.is_passed or report.compared:
        return report
    pairs = pair_jobs(jobs_of(baseline), jobs_of(current), report.terms.across)
    sides = {
        "the baseline": [pair.a for pair in pairs if pair.a],
        "the current side": [pair.b for pair in pairs if pair.b],
    }
    failed = [job for jobs in sides.values() for job in jobs if not job.measured]
    # rows of a suite's cells that failed on both sides before there was a run
    rows = (row for row in report.rows if row.outcome is GateOutcome.STILL_FAILING)
    cells = [row for row in rows if not row.current]
    if not failed and not cells:
        metrics = ", ".join(limit.metric for limit in report.terms.limits)
        raise UsageError(
            "nothing to compare",
            why=f"no job has {metrics} on both sides",
            hint="choose another metric; enginescope runs list shows the runs",
        )
    counts = []
    for side, jobs in sides.items():
        bad = len(cells) + sum(not job.measured for job in jobs)
        total = len(cells) + len(jobs)
        if bad:
            counts.append(f"{bad} of {total} {'job' if total == 1 else 'jobs'} of {side}")
    raise UsageError(
        "nothing to compare",
        why=f"{' and '.join(counts)} failed; the first is {_first(failed, cells)}",
        hint="remove the cause, measure that side again, then run the gate again"
        + (f"; enginescope runs show {failed[0].runs[-1].id} shows the failure" if failed else ""),
    )


def _first(failed: Sequence[JobRuns], cells: Sequence[GateRow]) -> str:
    if not failed:
        return f"{cells[0].job}: {cells[0].why}"
    (label,) = labels_of([failed[0].identity])
    return f"{label}: {failure_text(failed[0].runs[-1])}"
