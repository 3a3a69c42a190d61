"""``load``: how long do queries take that arrive at a rate, and which rate can be served?"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter

from enginescope.analysis.load.trials import ERROR, loadgen_figures, step_of, trial_of
from enginescope.analysis.verdicts.evidence_levels import evidence_level
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.judge.notice import Notice
from enginescope.judge.stats.mlperf_queries import decisive_queries
from enginescope.judge.units import counted, format_significant
from enginescope.records.notice import weightiest
from enginescope.records.progress import RoundPosition
from enginescope.records.run.job import Job, Limits, Subject
from enginescope.records.run.load_and_contention import LoadRule
from enginescope.records.run.run import Run
from enginescope.records.verdict.load import LoadKind, LoadReport, LoadStep, LoadTrial, Slo
from enginescope.render.load.load_answer import rate_of, rate_text
from enginescope.services.declared import python_function
from enginescope.services.load import request as load_request
from enginescope.services.measurement.jobs import held_clocks, jobs_of, raise_unless_ok
from enginescope.services.measurement.observer import MeasurementObserver
from enginescope.services.measurement.recorded import recorded_rounds
from enginescope.services.measurement.rounds import JobRounds, Pacing, interrupted_notice
from enginescope.services.store_access import made_now, place_of
from enginescope.services.verdicts.run_selection import tagged_runs
from enginescope.store.archive import Store

_ENDPOINT = "oip"
#: The tag of all runs of a load test: this and a token.
LOAD_TAG = "load-"
#: A worker's time beside the test itself: start, warm-up, the grace after the last arrival.
_BESIDE_S = 300.0
#: The same of a search, whose rates are not known before.
_SEARCH_S = 7_200.0
#: A search issues so many times the queries that show that an objective holds: some may be slow,
#: and they depend on each other.
_MARGIN = 2
#: Rates that a search tries at most.
MOST_RATES = 16
#: Below this share of the first rate no further rate is tried.
_LEAST_SHARE = 1 / 16
#: Notices that rates above the highest one bring with them.
_OF_HIGH_RATES = frozenset({"W-OVERLOAD", "W-UNSERVED"})


def run_load(request: load_request.LoadRequest, observer: MeasurementObserver) -> LoadReport:
    """Run the load test; each repeat at each rate is a fresh process and a stored run."""
    rule, slo = (
        load_request.rule_of(request),
        load_request.parse_slo(request.slo) if request.slo is not None else None,
    )
    load_request.check_load_request(request, rule, slo)
    if request.find_max and slo is not None:
        rule = replace(rule, least_queries=_MARGIN * decisive_queries(slo.p, ERROR))
    store = Store(place_of(request.store))
    if request.is_stored:
        store.check_writable()
    job = _job_of(request, rule, store)
    clocks = held_clocks((job,), request.jobs(clock=request.clock), observer)
    with temporary_folder() as folder, clocks:
        runs_store = store if request.is_stored else Store(folder)
        trials = _Trials(request, rule, slo, job, runs_store, observer)
        report = trials.searched() if request.find_max else trials.measured()
    if trials.not_stored is not None:
        observer.warn(trials.not_stored)
    return report


def _job_of(request: load_request.LoadRequest, rule: LoadRule, store: Store) -> Job:
    workload = replace(request.workload, mode=replace(request.workload.mode, in_flight=None))
    limits = request.limits or Limits(timeout_s=_timeout_s(rule))
    if not load_request.is_address(request.address):
        shared = {"on": request.on, "data": request.data, "conditions": request.conditions}
        asked = request.jobs(Path(request.target), **shared)
        return jobs_of(replace(asked, workload=workload, limits=limits), store)[0]
    spec = parse_backend(request.on or _ENDPOINT)
    if spec.name != _ENDPOINT:
        why = "an address is an endpoint"
        raise UsageError(f"{spec.name} for {request.address}", why=why, hint="omit `on`")
    return Job(
        subject=Subject(name=request.address.rstrip("/"), kind="endpoint"),
        backend=spec,
        workload=workload,
        layer_profile=False,
        limits=limits,
        conditions=request.conditions,
    )


def _timeout_s(rule: LoadRule) -> float:
    if rule.least_queries > 1:  # a low rate takes long to give them
        return _SEARCH_S
    planned_ms = rule.times_ms[-1] if rule.times_ms else rule.duration_ms
    if rule.queries is not None and rule.rate_per_s is not None:
        planned_ms = 1e3 * rule.queries / rule.rate_per_s
    return 4 * planned_ms / 1e3 + _BESIDE_S


class _Trials:
    """Measures trials: the repeats at a rate are the rounds of one side."""

    def __init__(
        self,
        request: load_request.LoadRequest,
        rule: LoadRule,
        slo: Slo | None,
        job: Job,
        store: Store,
        observer: MeasurementObserver,
    ) -> None:
        self._request, self._rule, self._slo = request, rule, slo
        self._job, self._observer = job, observer
        self._store, self._begin = store, perf_counter()
        self._runs: list[Run] = []
        self._repeats = request.repeats or (load_request.REPEATS if request.find_max else 1)
        self._tag = f"{LOAD_TAG}{secrets.token_hex(4)}"
        self._recorded = self._recorded_runs() if request.continues else ()
        self.not_stored: str | None = None

    def _recorded_runs(self) -> tuple[Run, ...]:
        """Return the runs of the newest load test of this rule, if that is to be continued."""
        first = replace(self._job, load=self._rule)
        sides = recorded_rounds((first,), self._store, self._observer)
        ids = {run.id for side in sides for run in side}
        tags = (tag for row in self._store.rows() if row.id in ids for tag in row.tags)
        self._tag = next((tag for tag in tags if tag.startswith(LOAD_TAG)), self._tag)
        return tagged_runs(self._tag, self._store, self._observer.warn) if sides else ()

    def at(self, rate_per_s: float | None) -> LoadStep:
        """Return the verdict at a rate; ``None``: the arrivals of the request as they are.

        What an interrupt leaves undecided is inconclusive.
        """
        request, rule = self._request, self._rule
        rounds = self._rounds(rate_per_s or rule.rate_per_s)
        trials: list[LoadTrial] = []
        while len(trials) < self._repeats and (run := _next_run(rounds)) is not None:
            self._runs.append(run)
            trials.append(trial_of(run, self._slo))
            self.not_stored = self.not_stored or rounds.not_stored
            if not request.find_max:
                continue
            if rate_per_s is None:
                rate_per_s = _first_rate(run)
                rounds = self._rounds(rate_per_s, done=1)
            if step_of(None, trials).kind is LoadKind.INCONCLUSIVE:
                break  # no further process decides the rate
        if not trials:
            raise self._observer.interruption or KeyboardInterrupt
        step = step_of(rate_per_s, trials)
        if len(trials) < self._repeats and self._slo is not None:
            step = replace(step, kind=LoadKind.INCONCLUSIVE)
        if step.kind is not LoadKind.MEASURED:
            self._observer.stands(f"{rate_text(rate_of(step))}: {step.kind.value}")
        return step

    def _rounds(self, rate_per_s: float | None, done: int = 0) -> JobRounds:
        rule = self._rule
        rule = replace(rule, rate_per_s=rate_per_s, seed=rule.seed + done)
        job = replace(self._job, load=rule)
        rate = f", {format_significant(rate_per_s)} queries/s" if rate_per_s else ""

        def text(turn: RoundPosition) -> str:
            number = f", process {turn.round + done + 1} of {self._repeats}"
            return f"{job.subject.name} · {job.backend}{rate}{number if self._repeats > 1 else ''}"

        turns = [run.turn for run in self._recorded if run.job.load == rule and run.turn]
        same = {turn.comparison for turn in turns if not turn.round}
        recorded = tuple(run for run in self._recorded if run.turn and run.turn.comparison in same)
        return JobRounds(
            (job,),
            Pacing(
                looks=(self._repeats - done,), text=text, recorded=(recorded,) if recorded else ()
            ),
            replace(self._request.jobs(), tags=(*self._request.tags, self._tag), continues=False),
            self._store,
            self._observer,
            spare=0,
        )

    def _has_time(self, rate_per_s: float) -> bool:
        rule, most_s = self._rule, self._request.max_time_s
        each_s = max(rule.duration_ms / 1e3, rule.least_queries / rate_per_s)
        if rule.queries is not None:
            each_s = rule.queries / rate_per_s
        return most_s is None or (perf_counter() - self._begin) + self._repeats * each_s <= most_s

    def measured(self) -> LoadReport:
        step = self.at(None)
        scenario, figures = self._rule.scenario, None
        if scenario is not None:
            figures = loadgen_figures(self._runs[0], scenario, self._slo)
        report = self._report(step.kind, (step,))
        cut_off = self._cut_off(len(step.trials), "process", "processes")
        return replace(report, loadgen=figures, notices=(*cut_off, *report.notices))

    def searched(self) -> LoadReport:
        """Return the highest rate that meets the objective; after an interrupt of those so far."""

        def measure(rate_per_s: float) -> LoadStep | None:
            if self._observer.interruption is not None or not self._has_time(rate_per_s):
                return None
            try:
                return self.at(rate_per_s)
            except (KeyboardInterrupt, SystemExit) as error:
                self._observer.interrupted(error)
                return None

        first = self.at(self._rule.rate_per_s)
        steps, skipped = search_highest(first, measure, self._request.resolution_pct)
        met, missed = _rates(steps, LoadKind.MET), _rates(steps, LoadKind.MISSED)
        between = sorted(_rates(steps, LoadKind.INCONCLUSIVE))
        kind = LoadKind.INCONCLUSIVE if between else LoadKind.MISSED
        report = self._report(LoadKind.MET if met else kind, steps)
        notices = [notice for notice in report.notices if notice.code not in _OF_HIGH_RATES]
        notices += self._cut_off(len(steps), "rate")
        if skipped is not None and self._observer.interruption is None:
            message = f"the maximum time was over: {skipped:.4g} queries/s was not tried"
            evidence = {"rate_per_s": skipped}
            notices.append(Notice(code="I-SHORT-SEARCH", message=message, evidence=evidence))
        return replace(
            report,
            notices=tuple(notices),
            highest_met=max(met, default=None),
            lowest_missed=min(missed, default=None),
            inconclusive=tuple(between),
        )

    def _cut_off(self, count: int, noun: str, plural: str | None = None) -> Iterator[Notice]:
        if self._observer.interruption is not None:
            yield interrupted_notice(counted(count, noun, plural))

    def _report(self, kind: LoadKind, steps: Sequence[LoadStep]) -> LoadReport:
        """Return what all trials have in common; each notice is that of the first run with it."""
        first = {notice.code: notice for run in reversed(self._runs) for notice in run.notices}
        return LoadReport(
            rule=self._rule,
            slo=self._slo,
            is_search=self._request.find_max,
            target=self._job.subject.name,
            tag=self._tag if self._request.is_stored else None,
            backend=str(self._job.backend),
            kind=kind,
            steps=tuple(steps),
            evidence=evidence_level(self._runs),
            notices=weightiest(first.values()),
            **made_now(self._request.command),
        )


def _next_run(rounds: JobRounds) -> Run | None:
    """Return the run of the next round, ``None`` after an interrupt; skip recorded failures."""
    while row := rounds.round():
        entry, run = row[0], row[0].measured.source
        if not entry.is_measured and entry.seconds is None:
            continue
        raise_unless_ok(run)
        if run.load is None:
            why = "it issues requests by itself"
            raise UnsupportedError(f"a load test on {run.job.backend.name}", why=why)
        return run
    return None


def _first_rate(run: Run) -> float:
    rule, outcome = run.job.load, run.load
    if rule is None or outcome is None or not outcome.closed_per_s:
        raise UsageError("`find_max`", why="the closed loop was not measured", hint="`rate`")
    return rule.share * rule.workers * outcome.closed_per_s


def search_highest(
    first: LoadStep, measure: Callable[[float], LoadStep | None], resolution_pct: float
) -> tuple[tuple[LoadStep, ...], float | None]:
    """Find the highest rate that meets the objective by bisection of the ratio, from a verdict.

    It is assumed that a higher rate never has lower latencies. Each step is at another rate. The
    search ends when the lowest rate that is not met is as close as `resolution_pct`, or if
    `measure` has no time left for a rate, or was interrupted: that rate is returned beside the
    steps.
    """
    steps, start = [first], first.rate_per_s or 1.0
    rate = _next_rate(steps, start, resolution_pct)
    while rate is not None and len(steps) < MOST_RATES:
        step = measure(rate)
        if step is None:
            return tuple(steps), rate
        steps.append(step)
        rate = _next_rate(steps, start, resolution_pct)
    return tuple(steps), None


def _next_rate(steps: Sequence[LoadStep], start: float, resolution_pct: float) -> float | None:
    """Return twice or half the rate until both verdicts are there, then the middle; None: end."""
    low = max(_rates(steps, LoadKind.MET), default=None)
    high = min(_rates(steps, *set(LoadKind) - {LoadKind.MET}), default=None)
    if high is None:
        rate = 2 * (low or start)
        return rate if rate <= load_request.MOST_PER_S else None
    if low is None:
        return high / 2 if high / 2 >= start * _LEAST_SHARE else None
    return math.sqrt(low * high) if high / low > 1 + resolution_pct / 100 else None


def _rates(steps: Sequence[LoadStep], *kinds: LoadKind) -> list[float]:
    return [step.rate_per_s for step in steps if step.kind in kinds and step.rate_per_s is not None]


def _from_python(request: load_request.LoadRequest, observer: MeasurementObserver) -> LoadReport:
    """Measure latency under load: queries arrive at a rate, whether or not earlier ones have ended.

    The workload gives inputs, seed and warm-up; its stop rule is not used. Without `store`, the
    runs are not stored.

    Returns:
        ``report.kind``, ``report.trials[0].latency.p99_ms``, ``report.highest_met``.

    Raises:
        UsageError: The request contradicts itself or the target.
        MissingDependencyError: gRPC needs the extra ``grpc``.
        BackendError: A process failed, or no query was answered.
    """
    return run_load(replace(request, is_stored=request.store is not None), observer)


load = python_function("load", load_request.LoadRequest, _from_python)
