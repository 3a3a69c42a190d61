"""What a gate was checked against, and what it found."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.comparison.run_to_run import SessionShift
from enginescope.judge.notice import Notice
from enginescope.judge.verdict import EvidenceLevel, Verdict


class GateOutcome(Enum):
    """What became of one job in one metric; the worst first."""

    REGRESSION = "regression"
    NEW_FAILURE = "new failure"
    LOST = "lost coverage"
    INCOMPARABLE = "incomparable"
    UNSTABLE = "unstable"
    INCONCLUSIVE = "inconclusive"
    STILL_FAILING = "still failing"
    NO_BASELINE = "no baseline"
    NEW = "new"
    FIXED = "fixed"
    IMPROVEMENT = "improvement"
    NO_REGRESSION = "no regression"


#: Outcomes that fail a gate whatever its policy.
FAILING = frozenset(
    {
        GateOutcome.REGRESSION,
        GateOutcome.NEW_FAILURE,
        GateOutcome.LOST,
        GateOutcome.INCOMPARABLE,
        GateOutcome.UNSTABLE,
    }
)
#: Outcomes for which both sides were there.
COMPARED = frozenset(
    {
        GateOutcome.REGRESSION,
        GateOutcome.UNSTABLE,
        GateOutcome.INCONCLUSIVE,
        GateOutcome.FIXED,
        GateOutcome.IMPROVEMENT,
        GateOutcome.NO_REGRESSION,
    }
)
#: ``fail``: an inconclusive result does not pass. ``pass``: it does.
InconclusivePolicy = Literal["fail", "pass"]
#: ``measure``: as ``fail``, after inconclusive jobs were measured again.
GatePolicy = Literal["measure", "fail", "pass"]
#: Largest increase of a metric that has no limit of its own, in percent.
DEFAULT_REGRESSION_PCT = 2.0


class Limit(Record, frozen=True, kw_only=True):
    """The most that one metric may get worse."""

    metric: str
    regression_pct: float


class GateTerms(Record, frozen=True, kw_only=True):
    """What a gate is checked against.

    Attributes:
        limits: One for each metric that is looked at.
        inconclusive: How to treat inconclusive rows.
        across: Conditions whose difference is meant.
        confidence: Of the whole gate: with unchanged jobs, it fails for a regression in 1 −
            `confidence` of cases at most. Each interval has at least this confidence.
    """

    limits: tuple[Limit, ...] = (Limit(metric="latency", regression_pct=DEFAULT_REGRESSION_PCT),)
    inconclusive: GatePolicy = "measure"
    across: tuple[str, ...] = ()
    confidence: float = 0.95


class GateRow(Record, frozen=True, kw_only=True):
    """One job in one metric, or a job as a whole.

    Attributes:
        job: Its label: model, backend, and what else tells it from others.
        metric: ``None``: of the job as a whole, which failed, is missing, or is new.
        why: What the outcome alone does not say.
        notices: Notices on it.
        baseline, current: Ids of the runs.
        path: Of the model's file, as the newest run has it.
        sessions: Variation between sessions that the interval allows for; ``None`` where both sides
            were measured in the same sessions.
        evidence: Of the weaker side; ``None`` where the row has no verdict.
        differing: Keys of the conditions that differ, as ``--across`` takes them.
    """

    job: str
    model: str
    backend: str
    outcome: GateOutcome
    metric: str | None = None
    limit_pct: float | None = None
    verdict: Verdict | None = None
    why: str | None = None
    notices: tuple[Notice, ...] = ()
    baseline: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    path: str | None = None
    sessions: SessionShift | None = None
    evidence: EvidenceLevel | None = None
    differing: tuple[str, ...] = ()


class GateReport(Result, Record, frozen=True, kw_only=True):
    """Result of a gate: a row for each job and metric.

    Attributes:
        baseline: As it was named.
        rows: The worst outcome first; jobs in the order of the baseline.
        jobs: Of both sets together, counterparts once.
        notices: What holds for all rows.
        measured: When the newest of the current runs was made, UTC, ISO 8601.
        host, place: Where, and on which GPU or processor.
    """

    baseline: str
    terms: GateTerms
    rows: tuple[GateRow, ...]
    jobs: int
    notices: tuple[Notice, ...] = ()
    measured: str | None = None
    host: str | None = None
    place: str = ""

    def fails(self, row: GateRow) -> bool:
        """Whether a row fails the gate."""
        is_open = row.outcome is GateOutcome.INCONCLUSIVE and self.terms.inconclusive != "pass"
        return row.outcome in FAILING or is_open

    @property
    def result(self) -> Literal["passed", "inconclusive", "failed"]:
        """``inconclusive``: nothing but inconclusive rows fails it."""
        failing = {row.outcome for row in self.rows if self.fails(row)}
        if not failing:
            return "passed"
        return "failed" if failing & FAILING else "inconclusive"

    @property
    def is_passed(self) -> bool:
        """Whether nothing fails it."""
        return self.result == "passed"

    @property
    def compared(self) -> int:
        """Rows in which something was compared with something."""
        return sum(one.outcome in COMPARED for one in self.rows)

    def count(self, outcome: GateOutcome) -> int:
        """Return the number of rows with an outcome."""
        return sum(one.outcome is outcome for one in self.rows)
