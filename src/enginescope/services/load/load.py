"""``load``: how long do queries take that arrive at a rate, and which rate can be served?"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from enginescope.analysis.load.loadgen import loadgen_figures
from enginescope.analysis.load.trials import ERROR, step_of, trial_of
from enginescope.analysis.verdicts.evidence import evidence_level
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import UnsupportedError, UsageError
from enginescope.core.record import replace
from enginescope.core.signals import deferred_signals
from enginescope.formats.arrival_trace import read_arrival_trace
from enginescope.judge.notice import Notice
from enginescope.judge.stats.early_stopping import decisive_queries
from enginescope.judge.units import counted
from enginescope.records.notice import weightiest
from enginescope.records.run.job import Conditions, Job, Limits, Subject, Workload
from enginescope.records.run.load import Arrivals, LoadRule, Scenario
from enginescope.records.verdict.load import LoadKind, LoadReport, LoadStep, LoadTrial
from enginescope.services.load.request import (
    REPEATS,
    RESOLUTION_PCT,
    SAMPLES_PER_QUERY,
    LoadObserver,
    LoadRequest,
    check_load_request,
    is_address,
    parse_slo,
    rule_of_scenario,
)
from enginescope.services.load.search import Found, search_highest
from enginescope.services.measurement.jobs import held_clocks, jobs_of, raise_unless_ok
from enginescope.services.measurement.rounds import interrupted_notice
from enginescope.services.own_command import stored_fields

if TYPE_CHECKING:
    from enginescope.records.run.run import Run
    from enginescope.store.archive import RunKeeper, Store

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
#: Notices that rates above the highest one bring with them.
_OF_HIGH_RATES = frozenset({"W-OVERLOAD", "W-UNSERVED"})


def run_load(request: LoadRequest, observer: LoadObserver) -> LoadReport:
    """Run the load test; each repeat at each rate is a fresh process and a stored run.

    Raises:
        UsageError: The request contradicts itself or the target.
        StoreError: The store cannot be written; nothing is measured then.
        UnsupportedError, BackendError: A process failed.
    """
    from enginescope.store.archive import RunKeeper, Store

    check_load_request(request)
    if request.is_search and request.slo is not None:
        least = _MARGIN * decisive_queries(request.slo.p, ERROR)
        request = replace(request, rule=replace(request.rule, least_queries=least))
    store = Store(request.store)
    if request.is_stored:
        store.check_writable()
    job = _job_of(request, store)
    keeper = RunKeeper(store)
    trials = _Trials(request, job, keeper, observer)
    with held_clocks((job,), request, observer):
        report = _searched(trials) if request.is_search else _measured(trials)
    if keeper.message is not None:
        observer.warn(keeper.message)
    return report


def _job_of(request: LoadRequest, store: Store) -> Job:
    mode = replace(request.workload.mode, in_flight=None)
    workload = replace(request.workload, mode=mode)
    prepared = replace(request, workload=workload, layer_profile=False)
    limits = request.limits or Limits(
        timeout_s=request.timeout_s or _timeout_s(request.rule), memory_bytes=request.memory_bytes
    )
    if is_address(request.target):
        spec = parse_backend(request.backends[0] if request.backends else _ENDPOINT)
        if spec.name != _ENDPOINT:
            raise UsageError(
                f"{spec.name} for {request.target}",
                why="an address is an endpoint",
                hint="omit `on`",
            )
        return Job(
            subject=Subject(name=request.target.rstrip("/"), kind="endpoint"),
            backend=spec,
            workload=workload,
            layer_profile=False,
            limits=limits,
            conditions=request.conditions,
        )
    (job,) = jobs_of(replace(prepared, models=(Path(request.target),), limits=limits), store)
    return job


def _timeout_s(rule: LoadRule) -> float:
    if rule.least_queries > 1:  # a low rate takes long to give them
        return _SEARCH_S
    planned_ms = rule.times_ms[-1] if rule.times_ms else rule.duration_ms
    if rule.queries is not None and rule.rate_per_s is not None:
        planned_ms = 1e3 * rule.queries / rule.rate_per_s
    return 4 * planned_ms / 1e3 + _BESIDE_S


class _Trials:
    """Measures trials, each in a process of its own."""

    def __init__(
        self, request: LoadRequest, job: Job, keeper: RunKeeper, observer: LoadObserver
    ) -> None:
        self.request, self.job, self.observer = request, job, observer
        self._keeper, self._begin = keeper, perf_counter()
        self.runs: list[Run] = []
        self.tag = f"{LOAD_TAG}{secrets.token_hex(4)}"
        self.repeats = request.repeats or (REPEATS if request.is_search else 1)

    def at(self, rate_per_s: float | None) -> LoadStep:
        """Return the verdict at a rate; ``None``: the arrivals of the request as they are."""
        found: list[LoadTrial] = []
        for repeat in range(self.repeats):
            run = self._run(rate_per_s, repeat)
            if rate_per_s is None and self.request.is_search:
                rate_per_s = _first_rate(run)
            found.append(trial_of(run, self.request.slo))
            if self.request.is_search and step_of(None, found).kind is LoadKind.INCONCLUSIVE:
                break  # no further process decides the rate
        step = step_of(rate_per_s, found)
        self.observer.step_ended(step)
        return step

    def has_time(self, rate_per_s: float) -> bool:
        """Whether all repeats at a rate would end within the maximum time."""
        rule = self.request.rule
        each_s = max(rule.duration_ms / 1e3, rule.least_queries / rate_per_s)
        if rule.queries is not None:
            each_s = rule.queries / rate_per_s
        most_s = self.request.max_time_s
        past_s = perf_counter() - self._begin
        return most_s is None or past_s + self.repeats * each_s <= most_s

    def _run(self, rate_per_s: float | None, repeat: int) -> Run:
        from enginescope.runner.session import run_jobs

        self.observer.check_cancelled()
        rule = self.request.rule
        rule = replace(rule, seed=rule.seed + repeat, rate_per_s=rate_per_s or rule.rate_per_s)
        job = replace(self.job, load=rule)
        self.observer.jobs_started((job,))
        run_jobs((job,), self._keep, command=self.request.command, watcher=self.observer.watcher)
        run = self.runs[-1]
        raise_unless_ok(run)
        if run.load is None:
            raise UnsupportedError(
                f"a load test on {job.backend.name}", why="it issues requests by itself"
            )
        return run

    @deferred_signals()
    def _keep(self, run: Run) -> None:
        request = self.request
        named = run.of_commit(request.commit)
        if request.is_stored:
            self._keeper.keep(named, (*request.tags, self.tag))
        self.runs.append(named)
        is_stored = request.is_stored and named not in self._keeper.lost
        self.observer.run_ended(named, is_stored=is_stored)

    def report(self, kind: LoadKind, steps: Sequence[LoadStep]) -> LoadReport:
        """Return what all trials have in common."""
        request, rule = self.request, self.request.rule
        figures = None
        if rule.scenario is not None and not request.is_search:
            figures = loadgen_figures(self.runs[0], rule.scenario, request.slo)
        return LoadReport(
            target=self.job.subject.name,
            tag=self.tag if request.is_stored else None,
            backend=str(self.job.backend),
            rule=rule,
            kind=kind,
            steps=tuple(steps),
            slo=request.slo,
            loadgen=figures,
            evidence=evidence_level(self.runs),
            notices=_notices(self.runs),
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            command=request.command,
        )


def _first_rate(run: Run) -> float:
    """Return the rate that the share of the closed loop came to."""
    rule, outcome = run.job.load, run.load
    if rule is None or outcome is None or not outcome.closed_per_s:
        raise UsageError("`find_max`", why="the closed loop was not measured", hint="`rate`")
    return rule.share * rule.workers * outcome.closed_per_s


def _notices(runs: Sequence[Run]) -> tuple[Notice, ...]:
    """Return the notices of all runs, each code once: the first run's that has it."""
    first = {notice.code: notice for run in reversed(runs) for notice in run.notices}
    return weightiest(first.values())


def _measured(trials: _Trials) -> LoadReport:
    step = trials.at(None)
    return trials.report(step.kind, (step,))


def _searched(trials: _Trials) -> LoadReport:
    request = trials.request
    first = trials.at(request.rule.rate_per_s)
    waiting = [first]

    def measure(rate_per_s: float) -> LoadStep | None:
        try:
            return waiting.pop() if waiting else trials.at(rate_per_s)
        except (KeyboardInterrupt, SystemExit) as error:
            trials.observer.interrupted(error)
            return None

    found = search_highest(
        first.rate_per_s or 1.0, measure, request.resolution_pct, trials.has_time
    )
    kind = LoadKind.MET if found.highest_met is not None else LoadKind.MISSED
    if kind is LoadKind.MISSED and found.inconclusive:
        kind = LoadKind.INCONCLUSIVE
    report = trials.report(kind, found.steps)
    shown = (notice for notice in report.notices if notice.code not in _OF_HIGH_RATES)
    return replace(
        report,
        is_search=True,
        notices=(*shown, *_cut_off(found, is_interrupted=trials.observer.interruption is not None)),
        highest_met=found.highest_met,
        lowest_missed=found.lowest_missed,
        inconclusive=found.inconclusive,
    )


def _cut_off(search: Found, *, is_interrupted: bool) -> Iterator[Notice]:
    if is_interrupted:
        yield interrupted_notice(counted(len(search.steps), "rate"))
    elif search.skipped is not None:
        yield Notice(
            code="I-SHORT-SEARCH",
            message=f"the maximum time was over: {search.skipped:.4g} queries/s was not tried",
            evidence={"rate_per_s": search.skipped},
            level="info",
        )


def load(
    target: str | PathLike[str],
    *,
    on: str | None = None,
    rate: float | None = None,
    arrivals: Arrivals = "poisson",
    trace: str | PathLike[str] | None = None,
    duration_ms: float = LoadRule().duration_ms,
    queries: int | None = None,
    concurrency: int = 1,
    slo: str | None = None,
    find_max: bool = False,
    repeats: int | None = None,
    resolution_pct: float = RESOLUTION_PCT,
    max_time_s: float | None = None,
    scenario: Scenario | None = None,
    samples_per_query: int = SAMPLES_PER_QUERY,
    workload: Workload | None = None,
    data: str = "auto",
    limits: Limits | None = None,
    conditions: Conditions | None = None,
    tags: Sequence[str] = (),
    store: str | PathLike[str] | None = None,
) -> LoadReport:
    """Measure latency under load: queries arrive at a rate, whether or not earlier ones have ended.

    Args:
        target: A model, an engine, or an endpoint ``http://HOST:PORT/v2/models/NAME``, or
            ``grpc://``; with TLS ``https://`` and ``grpcs://``.
        on: Backend; by default as for `bench`, of an address ``"oip"``.
        rate: Queries per second. By default half of what the closed loop reaches.
        arrivals: ``"poisson"`` or ``"constant"``; the seed is that of the workload.
        trace: A file of arrival times, in place of a rate.
        duration_ms: Queries arrive for so long.
        queries: Exactly so many queries, in place of a duration.
        concurrency: Workers, each with a session or a connection of its own.
        slo: ``"p99<10ms"``.
        find_max: Search the highest rate that meets `slo`.
        repeats: Processes at each rate; 1, in a search 3.
        resolution_pct: A search ends when the next rate that is not met is so close.
        max_time_s: A search tries no rate whose queries would not end in time.
        scenario: Of MLPerf Inference: ``"single-stream"``, ``"multi-stream"``, ``"server"`` or
            ``"offline"``.
        samples_per_query: Of the scenario multi-stream.
        workload: Inputs, seed, and warm-up; its stop rule is not used.
        data: As for `bench`.
        limits: Of each process.
        conditions: Cores to pin the process to.
        tags: Names for the runs in the store.
        store: Where the runs are stored; by default they are not.

    Returns:
        ``report.kind``, ``report.trials[0].latency.p99_ms``, ``report.highest_met``.

    Raises:
        UsageError: The request contradicts itself or the target.
        MissingDependencyError: gRPC needs the extra ``grpc``.
        BackendError: A process failed, or no query was answered.
    """
    inputs = workload or Workload()
    rule = LoadRule(
        arrivals="trace" if trace is not None else arrivals,
        rate_per_s=rate,
        duration_ms=float(duration_ms),
        queries=queries,
        seed=inputs.seed,
        times_ms=read_arrival_trace(Path(trace)) if trace is not None else (),
        workers=concurrency,
        samples_per_query=samples_per_query if scenario == "multi-stream" else 1,
    )
    request = LoadRequest(
        target=fspath(target),
        backends=(on,) if on else (),
        rule=rule if scenario is None else rule_of_scenario(scenario, rule),
        slo=parse_slo(slo) if slo is not None else None,
        is_search=find_max,
        repeats=repeats,
        resolution_pct=resolution_pct,
        max_time_s=max_time_s,
        workload=inputs,
        data=data,
        limits=limits,
        conditions=conditions or Conditions(),
        is_stored=store is not None,
        **stored_fields(tags, store),
    )
    return run_load(request, LoadObserver())
