"""What a load test found: latency at a rate, the highest rate of a goal, MLPerf's figures."""

from __future__ import annotations

from enum import Enum

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Percentile, Summary
from enginescope.judge.verdict import EvidenceLevel
from enginescope.records.run.load_and_contention import LoadRule, Scenario
from enginescope.records.run.rounds import MadeReport


class LoadKind(Enum):
    """Whether a service level objective holds."""

    MEASURED = "measured"
    MET = "met"
    MISSED = "missed"
    INCONCLUSIVE = "inconclusive"


class Slo(Record, frozen=True, kw_only=True):
    """A service level objective: percentile `p` of the latency is below `limit_ms`."""

    p: float
    limit_ms: float


class QueryParts(Record, frozen=True, kw_only=True):
    """The latency of one query, whose parts add up to it.

    Attributes:
        p: Percentile of the latency that the query is at; 100: the slowest.
    """

    p: float
    latency_ms: float
    queueing_ms: float
    service_ms: float


class LoadTrial(Record, frozen=True, kw_only=True):
    """One process that served queries at one rate.

    Attributes:
        run: Id.
        rate_per_s: At which queries arrived; ``None``: closed loop, or all at once.
        planned, served, unserved, failed: Queries.
        slow: Queries above the limit; those that were not served count.
        percentile: Of the objective, among the served ones.
        is_late: Whether the generator was late: the run has the notice ``W-LATE``.
        latency: From the intended arrival.
        parts: Of the query at the highest percentile that may be stated; ``None`` of a closed loop.
        service, queueing, lateness: ``None`` of a closed loop.
    """

    run: str
    kind: LoadKind
    planned: int
    served: int
    unserved: int = 0
    failed: int = 0
    rate_per_s: float | None = None
    slow: int | None = None
    percentile: Percentile | None = None
    is_late: bool = False
    latency: Summary | None = None
    service: Summary | None = None
    queueing: Summary | None = None
    lateness: Summary | None = None
    parts: QueryParts | None = None


class LoadStep(Record, frozen=True, kw_only=True):
    """All repeats at one rate.

    Attributes:
        rate_per_s: As requested; ``None``: the trace, a closed loop, or all at once.
    """

    kind: LoadKind
    trials: tuple[LoadTrial, ...]
    rate_per_s: float | None = None


class LoadGenFigures(Record, frozen=True, kw_only=True):
    """The figures of an MLPerf Inference scenario, as LoadGen computes them.

    Attributes:
        p: Percentile of the scenario.
        percentile_ms: Latency at the place ``int(n · p)`` of the sorted ones.
        estimate_ms: Early-stopping estimate of it; ``None``: too few queries.
        estimate_p99_ms: The same of the 99th percentile, in the scenario single-stream.
        needed: Queries that the estimate needs; in the scenario server, that the run needs to pass.
        slow: In the scenario server: queries above the limit.
        is_passed: In the scenario server with a limit: whether early stopping is satisfied, and the
            percentile is within the limit.
        per_s: Queries per second: offline of all samples, server as scheduled.
        completed_per_s: In the scenario server, until the last answer.
    """

    scenario: Scenario
    queries: int
    p: float
    percentile_ms: float
    mean_ms: float
    min_ms: float
    max_ms: float
    percentiles: tuple[tuple[float, float], ...] = ()
    estimate_ms: float | None = None
    estimate_p99_ms: float | None = None
    needed: int | None = None
    slow: int | None = None
    is_passed: bool | None = None
    per_s: float | None = None
    completed_per_s: float | None = None


class LoadReport(Result, MadeReport, frozen=True, kw_only=True):
    """A load test of one target.

    Attributes:
        target: File name or address.
        backend: As it is typed.
        kind: Whether the objective holds; of a search, whether any rate meets it.
        steps: In the order in which they were measured.
        is_search: Whether the highest rate was searched.
        highest_met, lowest_missed: Rates of a search, queries per second.
        inconclusive: Rates above the highest met one that are inconclusive.
        loadgen: Of a scenario.
        tag: Of its stored runs.
    """

    target: str
    backend: str
    rule: LoadRule
    kind: LoadKind
    steps: tuple[LoadStep, ...]
    slo: Slo | None = None
    is_search: bool = False
    highest_met: float | None = None
    lowest_missed: float | None = None
    inconclusive: tuple[float, ...] = ()
    loadgen: LoadGenFigures | None = None
    evidence: EvidenceLevel | None = None
    tag: str | None = None

    @property
    def trials(self) -> tuple[LoadTrial, ...]:
        """The trials of all steps."""
        return tuple(trial for step in self.steps for trial in step.trials)

    @property
    def is_passed(self) -> bool | None:
        """Whether the objective is met; ``None``: inconclusive, or there is no objective."""
        return {LoadKind.MET: True, LoadKind.MISSED: False}.get(self.kind)
