"""What a comparison of two sides comes to."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from enginescope.core.record import Record
from enginescope.model.samples import Interval


class VerdictKind(Enum):
    """What may be said of B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"
    INCOMPARABLE = "incomparable"


class Reason(Enum):
    """Why a verdict is what it is."""

    BEYOND_THRESHOLD = "beyond-threshold"
    WITHIN_THRESHOLD = "within-threshold"
    INTERVAL_TOO_WIDE = "interval-too-wide"
    NO_INTERVAL = "no-interval"
    ONE_VALUE = "one-value"
    CLOCK_STEP = "clock-step"
    EXACT = "exact"
    UNSTABLE = "unstable"
    DIFFERENT = "different-conditions"


class RatioEstimate(Record, frozen=True, kw_only=True):
    """How many times A's median B's is.

    Attributes
    ----------
    ratio : float
        B ÷ A.
    interval : Interval or None
        Of the ratio; ``None`` where the samples cannot carry one.
    method : {"rounds", "processes", "samples"}
        What was taken as the unit: pairs of processes measured in turn, processes, or blocks of
        samples within each of so few processes that their scatter is not known from them.
    n_a, n_b : int
        Units of either side: rounds, processes, or samples.
    left_out : int
        Rounds that do not count, since a process of theirs was disturbed.
    is_student : bool
        Of processes too few for ranks: the interval is Student's t, which takes the logarithms of
        their medians for normally distributed.
    """

    ratio: float
    interval: Interval | None
    method: Literal["rounds", "processes", "samples"]
    n_a: int
    n_b: int
    left_out: int = 0
    is_student: bool = False


class Verdict(Record, frozen=True, kw_only=True):
    """B against A in one metric.

    Attributes
    ----------
    metric : str
        Tag of a `Metric`, or the name of a figure that a run has one of.
    kind : VerdictKind
    reason : Reason
    a, b : float or None
        The medians, in the unit of the metric.
    estimate : RatioEstimate or None
        ``None`` where there is nothing to divide.
    threshold_pct : float
        Smaller differences do not matter.
    samples_a, samples_b : int
        Samples of all processes together.
    effective_a, effective_b : float or None
        What they are worth.
    processes_a, processes_b : int
    more : int or None
        How many more units of `estimate` would probably decide it; ``None`` where it is decided,
        or where no number of them would.
    detail : str or None
        What the reason alone does not say: the conditions that differ, the step of the clock.
    higher_is_better : bool
    """

    metric: str
    kind: VerdictKind
    reason: Reason
    a: float | None = None
    b: float | None = None
    estimate: RatioEstimate | None = None
    threshold_pct: float = 1.0
    samples_a: int = 0
    samples_b: int = 0
    effective_a: float | None = None
    effective_b: float | None = None
    processes_a: int = 1
    processes_b: int = 1
    more: int | None = None
    detail: str | None = None
    higher_is_better: bool = False

    @property
    def is_decided(self) -> bool:
        """Whether it says faster, slower or same."""
        return self.kind in (VerdictKind.FASTER, VerdictKind.SLOWER, VerdictKind.SAME)
