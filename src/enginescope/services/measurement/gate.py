"""Decide a gate; measure its inconclusive jobs again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from enginescope.analysis.verdicts.comparability import CompareConfig
from enginescope.analysis.verdicts.compared_figures import HEADLINE
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison
from enginescope.core.errors import EnginescopeError
from enginescope.core.record import replace
from enginescope.judge.comparison.looks import LOOKS, looks_up_to
from enginescope.judge.experiment import Ended
from enginescope.judge.notice import Notice
from enginescope.judge.units import counted
from enginescope.records.progress import COMPARISON_TAG, RoundPlan
from enginescope.records.run.job import Job
from enginescope.records.run.rounds import comparison_id, plan_of, whole_rounds
from enginescope.records.run.run import Run
from enginescope.records.verdict import gate as gate_records
from enginescope.records.verdict.gate import GatePolicy
from enginescope.services.measurement.continued import continue_sides
from enginescope.services.measurement.interleaved import paced_workload
from enginescope.services.measurement.jobs import JobRequest
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import Sides, change_since, newest_recorded
from enginescope.services.measurement.rounds import InterleavedResult, Pacing, run_rounds
from enginescope.services.store_access import own_command, place_of
from enginescope.services.verdicts.gate import GateQuestion, GateRequest
from enginescope.services.verdicts.run_selection import MEASURED_AGAIN, Named, input_of

#: Ids of the runs of a job's two sides.
_Ids = tuple[tuple[str, ...], tuple[str, ...]]


def decide_gate(
    request: GateRequest, command: str | None, observer: MeasurementObserver
) -> gate_records.GateReport:
    """Compare the jobs of two sets of runs; measure again where the policy and the jobs allow it.

    Nothing is measured where the gate fails anyway. A job of an interleaved comparison gets more
    rounds; any other a new comparison, for which half of the gate's error rate is reserved.
    """
    question = GateQuestion(request, observer)
    baseline, current = question.baseline, question.current
    if request.terms.inconclusive != "measure":
        return question.checked(question.compared(baseline, current))
    again = _Again(question, request, command, observer)
    report = question.compared(baseline, current, measurements=again.measurements)
    if report.result == "inconclusive":
        report = again.decided(report)
    return question.checked(report)


class _Measured(NamedTuple):
    sides: Sides
    notice: Notice


class _Again:
    def __init__(
        self,
        question: GateQuestion,
        request: GateRequest,
        command: str | None,
        observer: MeasurementObserver,
    ) -> None:
        self._question, self._command, self._observer = question, command, observer
        self._request, self._start = request, 0.0
        self._runs = {run.id: run for run in (*question.baseline, *question.current)}
        self._begun: set[str] = set()
        #: 2 where a job may get a comparison of its own, as its model is still there.
        self.measurements = 1 + any(
            _not_repeatable(run) is None and Path(run.job.subject.path or "").is_file()
            for run in question.baseline
        )

    def decided(self, report: gate_records.GateReport) -> gate_records.GateReport:
        self._start = perf_counter()
        jobs = dict.fromkeys(_ids(row) for row in report.rows if _is_open(row))
        measured = {ids: self._measured(ids) for ids in jobs}
        done = {ids: job for ids, job in measured.items() if isinstance(job, _Measured)}
        notices = {
            ids: job.notice
            if isinstance(job, _Measured)
            else Notice(code="W-NOT-MEASURED-AGAIN", message=f"not measured again: {job}")
            for ids, job in measured.items()
        }
        rows: dict[tuple[_Ids, str | None], gate_records.GateRow] = {}
        kept = any(row.verdict and _ids(row) not in done for row in report.rows)
        all_notices = report.notices if kept or not done else ()
        if done:
            again = self._question.compared(
                *([run for job in done.values() for run in job.sides[side]] for side in (0, 1)),
                measurements=self.measurements,
                begun=self._begun,
            )
            rows = {(_ids(row), row.metric): row for row in again.rows}
            all_notices = tuple(
                {notice.code: notice for notice in (*all_notices, *again.notices)}.values()
            )

        def decided(row: gate_records.GateRow) -> gate_records.GateRow:
            ids = _ids(row)
            if not _is_open(row):
                return row
            new = (_ids_of(done[ids].sides), row.metric) if ids in done else None
            row = rows.get(new, row) if new else row
            return replace(row, notices=(*row.notices, notices[ids]))

        order = list(gate_records.GateOutcome)
        decided_rows = sorted(map(decided, report.rows), key=lambda row: order.index(row.outcome))
        return replace(report, rows=tuple(decided_rows), notices=all_notices)

    def _measured(self, ids: _Ids) -> _Measured | str:
        if self._observer.interruption is not None:
            return "interrupted"
        if self._left_s is not None and self._left_s <= 0:
            return "the maximum time is over"
        sides = tuple(tuple(self._runs[run] for run in side) for side in ids)
        try:
            turns = {run.turn.comparison if run.turn else None for side in sides for run in side}
            is_comparison = len(turns) == 1 and plan_of(sides) is not None
            result = self._continued(sides) if is_comparison else self._begin(sides)
        except EnginescopeError as error:
            return str(error)
        except (KeyboardInterrupt, SystemExit) as error:
            self._observer.interrupted(error)
            return "interrupted"
        if isinstance(result, str):
            return result
        if result.comparison is None or result.ended is Ended.GIVEN_UP:
            failed = next(side for side in result.sides if not side.runs[-1].headline)
            return f"a process failed: {failed.runs[-1].outcome.message}"
        again = tuple(side.runs for side in result.sides)
        tag, rounds = f"{COMPARISON_TAG}{comparison_id(again)}", len(whole_rounds(again))
        notice = Notice(
            code="I-MEASURED-AGAIN",
            message="inconclusive at first; measured again in "
            f"{counted(rounds, 'interleaved round')}: {tag}",
            evidence={"comparison": tag, "rounds": rounds},
        )
        return _Measured(again, notice)

    @property
    def _left_s(self) -> float | None:
        most_s = self._request.max_time_s
        return None if most_s is None else most_s - (perf_counter() - self._start)

    def _continued(self, sides: Sides) -> InterleavedResult:
        store = self._question.store
        store.check_writable()
        return continue_sides(
            sides,
            None,
            self._command,
            store,
            self._observer,
            max_time_s=self._left_s,
            is_decided=self._is_decided,
        )

    def _begin(self, sides: Sides) -> InterleavedResult | str:
        """Return a comparison of the newest run of each side, or why there is none.

        It is a new one, or the one that an earlier gate has begun.
        """
        why = next((why for run in chain(*sides) if (why := _not_repeatable(run))), None)
        why = why or change_since(sides)
        if why is not None:
            return why
        store, terms = self._question.store, self._question.terms
        store.check_writable()
        limit_pct = min(limit.regression_pct for limit in terms.limits)
        plan = RoundPlan(rounds=LOOKS[-1], threshold_pct=limit_pct, across=terms.across)
        jobs = tuple(
            replace(run.job, engine=None, workload=paced_workload(run.job.workload))
            for run in (side[-1] for side in sides)
        )

        def is_begun(run: Run, job: Job) -> bool:
            is_of_gate = MEASURED_AGAIN in run.tags and run.turn and run.turn.plan == plan
            return bool(is_of_gate) and run.job.subject == job.subject

        begun = self._request.continues and newest_recorded(jobs, store, self._observer, is_begun)
        if begun:
            self._begun.add(comparison_id(begun) or "")
            return self._continued(begun)
        result = run_rounds(
            jobs,
            looks_up_to(plan.rounds),
            CompareConfig(threshold_pct=limit_pct, across=terms.across),
            JobRequest(tags=(MEASURED_AGAIN,), max_time_s=self._left_s, command=self._command),
            store,
            self._observer,
            pacing=Pacing(plan=plan),
            is_decided=self._is_decided,
        )
        self._begun.add(comparison_id([side.runs for side in result.sides]) or "")
        return result

    def _is_decided(self, interim: MeasuredComparison) -> bool:
        baseline, current = (side.runs for side in interim.sides)
        report = self._question.compared(baseline, current, measurements=self.measurements)
        return not any(map(_is_open, report.rows))


def _is_open(row: gate_records.GateRow) -> bool:
    return row.outcome is gate_records.GateOutcome.INCONCLUSIVE


def _ids(row: gate_records.GateRow) -> _Ids:
    return row.baseline, row.current


def _ids_of(sides: Sides) -> _Ids:
    ordered = (sorted((run.created, run.id) for run in side) for side in sides)
    baseline, current = (tuple(run_id for _, run_id in side) for side in ordered)
    return baseline, current


def _not_repeatable(run: Run) -> str | None:
    """Return why the job of a run cannot be measured again, as far as the run alone says."""
    job = run.job
    if run.origin == "imported" or job.subject.path is None:
        return "its figures are imported"
    if job.backend.environment is not None:
        return f"it ran in the environment {job.backend.environment}"
    if job.load or job.shapes or job.contention:
        return "it is not a timed loop"
    if run.turn is not None:
        return "its runs are of an interleaved comparison that cannot be continued"
    return None


def gate(
    current: Named | None = None,
    *,
    baseline: Named,
    max_regression_pct: float | Mapping[str, float] = gate_records.DEFAULT_REGRESSION_PCT,
    inconclusive: GatePolicy = "measure",
    across: Sequence[str] = (),
    confidence: float = 0.95,
    continues: bool = False,
    max_time_s: float | None = None,
    store: str | PathLike[str] | None = None,
) -> gate_records.GateReport:
    """Compare runs with a baseline.

    Args:
        current, baseline: Runs as for `compare`, of any number of jobs. Without `current`: the runs
            of the store that are newer than the baseline's, or the other sides of an interleaved
            baseline.
        max_regression_pct: Largest increase of latency, or of each metric:
            ``{"latency": 2, "p99": 5}``.
        inconclusive: ``"measure"``: measure inconclusive jobs again, interleaved, where models and
            machine are as they were; what is inconclusive then still does not pass. ``"fail"``:
            measure nothing. ``"pass"``: inconclusive results pass.
        across: Conditions whose difference is intended: ``("gpu", "driver")``.
        confidence: Confidence of the whole gate: the probability of a false regression, over all
            jobs and metrics, is at most the rest.
        continues: Continue what an earlier gate has begun to measure again.
        max_time_s: Of all that is measured again; it measures fewer rounds if needed.
        store: Path or URL where tags, ids, earlier runs and noise floors are looked up.

    Returns:
        ``report.is_passed``, and a row for each job and metric.

    Raises:
        UsageError: Nothing could be compared, a limit is out of range, or as `compare`.
        FormatError, StoreError: As `compare`.
    """
    given = max_regression_pct
    limits = given if isinstance(given, Mapping) else {HEADLINE: given}
    terms = gate_records.GateTerms(
        limits=tuple(
            gate_records.Limit(metric=name, regression_pct=pct) for name, pct in limits.items()
        ),
        inconclusive=inconclusive,
        across=tuple(across),
        confidence=confidence,
    )
    request = GateRequest(
        baseline=input_of(baseline),
        current=() if current is None else input_of(current),
        terms=terms,
        continues=continues,
        max_time_s=max_time_s,
        store=place_of(store),
    )
    return decide_gate(request, own_command(), MeasurementObserver())
