"""What a gate was held to, and what it found."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from enginescope.core.record import Record
from enginescope.model.notice import Notice
from enginescope.model.verdict import Verdict


class GateOutcome(Enum):
    """What became of one job in one metric; the worst first."""

    REGRESSION = "regression"
    NEW_FAILURE = "new failure"
    LOST = "lost coverage"
    INCOMPARABLE = "incomparable"
    UNDECIDED = "undecided"
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
    }
)
#: Outcomes for which both sides were there.
COMPARED = frozenset(
    {
        GateOutcome.REGRESSION,
        GateOutcome.UNDECIDED,
        GateOutcome.FIXED,
        GateOutcome.IMPROVEMENT,
        GateOutcome.NO_REGRESSION,
    }
)
UndecidedPolicy = Literal["pass", "warn", "fail"]


class Limit(Record, frozen=True, kw_only=True):
    """The most that one metric may get worse."""

    metric: str
    regression_pct: float


class GateTerms(Record, frozen=True, kw_only=True):
    """What a gate is held to.

    Attributes
    ----------
    limits : tuple of Limit
        One for each metric that is looked at.
    undecided : {"pass", "warn", "fail"}
        What an open question counts as.
    across : tuple of str
        Conditions whose difference is meant.
    confidence : float
        Of each interval of several processes; that of one process a side is 95 %.
    """

    limits: tuple[Limit, ...] = (Limit(metric="latency", regression_pct=2.0),)
    undecided: UndecidedPolicy = "warn"
    across: tuple[str, ...] = ()
    confidence: float = 0.95


class GateRow(Record, frozen=True, kw_only=True):
    """One job in one metric, or a job as a whole.

    Attributes
    ----------
    job : str
        Its label: model, backend, and what else tells it from others.
    model, backend : str
    outcome : GateOutcome
    metric : str or None
        ``None``: of the job as a whole, which failed, is missing, or is new.
    limit_pct : float or None
    verdict : Verdict or None
    why : str or None
        What the outcome alone does not say.
    notices : tuple of Notice
        What weakens it.
    baseline, current : tuple of str
        Ids of the runs.
    path : str or None
        Of the model's file, as the newest run has it.
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


class GateReport(Record, frozen=True, kw_only=True):
    """The answer of a gate.

    Attributes
    ----------
    baseline : str
        As it was named.
    terms : GateTerms
    rows : tuple of GateRow
        The worst outcome first; jobs in the order of the baseline.
    jobs : int
        Of both sets together, counterparts once.
    notices : tuple of Notice
        What holds for all rows.
    measured : str or None
        When the newest of the current runs was made, UTC, ISO 8601.
    host : str or None
        Where.
    """

    baseline: str
    terms: GateTerms
    rows: tuple[GateRow, ...]
    jobs: int
    notices: tuple[Notice, ...] = ()
    measured: str | None = None
    host: str | None = None

    def fails(self, row: GateRow) -> bool:
        """Whether a row fails the gate."""
        is_open = row.outcome is GateOutcome.UNDECIDED and self.terms.undecided == "fail"
        return row.outcome in FAILING or is_open

    @property
    def is_passed(self) -> bool:
        """Whether nothing fails it."""
        return not any(map(self.fails, self.rows))

    @property
    def compared(self) -> int:
        """Rows in which something was held against something."""
        return sum(one.outcome in COMPARED for one in self.rows)

    def count(self, outcome: GateOutcome) -> int:
        """Return the number of rows with an outcome."""
        return sum(one.outcome is outcome for one in self.rows)
