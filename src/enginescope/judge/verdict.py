"""What a comparison of two sides comes to, on what evidence, and how its difference is stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from enginescope.judge.samples import Interval
from enginescope.judge.units import format_significant


class EvidenceLevel(Enum):
    """What a verdict rests on; the weakest first.

    Attributes:
        PRINTED: A side has figures that a tool printed, and no samples.
        SAMPLES: A side has samples of one process. They do not show how processes differ.
        ONE_PROCESS: Rounds of several sides in one process, interleaved. They share its memory
            layout and its caches.
        PROCESSES: Several processes a side, measured at different times.
        INTERLEAVED: Several processes a side, which took turns in one comparison.
        BUILDS: Interleaved, and each process built its own engine.
    """

    PRINTED = "printed figures"
    SAMPLES = "samples of one process"
    ONE_PROCESS = "interleaved rounds of one process"
    PROCESSES = "separate processes"
    INTERLEAVED = "interleaved processes"
    BUILDS = "independent builds"


class VerdictKind(Enum):
    """What may be said of B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"
    INCOMPARABLE = "incomparable"


class Reason(Enum):
    """Why a verdict is what it is."""

    BEYOND_THRESHOLD = "beyond-threshold"
    WITHIN_THRESHOLD = "within-threshold"
    INTERVAL_TOO_WIDE = "interval-too-wide"
    NO_INTERVAL = "no-interval"
    FEW_SAMPLES = "few-samples"
    ONE_VALUE = "one-value"
    CLOCK_STEP = "clock-step"
    BUILD_SPREAD = "build-spread"
    SESSIONS = "sessions"
    EXACT = "exact"
    UNSTABLE = "unstable"
    PROCESS_STATES = "process-states"
    PRINTED_ONLY = "printed-only"
    DIFFERENT = "different-conditions"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisturbedRounds:
    """Rounds in which the median of a process is hardly known, by side.

    Attributes:
        a, b: Rounds in which only this side's process was disturbed.
        unstable: The side whose processes are disturbed more often than chance allows (exact test).
            The rounds that one side alone disturbed count then.
    """

    a: int
    b: int
    both: int
    unstable: Literal["a", "b"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimate:
    """The ratio B ÷ A with its interval.

    Attributes:
        ratio: B ÷ A.
        interval: Of the ratio; ``None`` where the samples cannot carry one.
        method: What was taken as the unit: pairs of processes interleaved, processes, or
            blocks of samples within each of so few processes that their scatter is not known from
            them.
        n_a, n_b: Units of either side: rounds, processes, or samples.
        left_out: Rounds that do not count, since something disturbed one of their processes.
        disturbed: ``None`` where there are no rounds, or no samples that show a disturbance.
        is_student: Of rounds or processes too few for ranks of this confidence: the interval is
            Student's t, which takes the logarithms of their medians for normally distributed.
    """

    ratio: float
    interval: Interval | None
    method: Literal["rounds", "processes", "samples"]
    n_a: int
    n_b: int
    left_out: int = 0
    disturbed: DisturbedRounds | None = None
    is_student: bool = False

    @property
    def basis(self) -> Literal["round", "pair"] | None:
        """What each ratio belongs to whose middle is the estimate.

        ``None``: the estimate is the quotient of both sides' medians.
        """
        if self.method == "rounds":
            return "round" if self.n_a > 1 else None
        is_ranked = self.method == "processes" and not self.is_student
        return "pair" if is_ranked and self.n_a * self.n_b > 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """B against A in one metric.

    Attributes:
        metric: Tag of a `Metric`, or the name of a figure that a run has one of.
        a, b: Of each side the median of its processes that `estimate` uses, in the unit of the
            metric.
        estimate: ``None`` where there is nothing to divide, or no samples but printed figures.
        threshold_pct: Smaller differences do not matter.
        samples_a, samples_b: Samples of all processes together.
        effective_a, effective_b: What they are worth.
        more: How many more units of `estimate` would probably decide it; ``None`` where it is
            decided, or where no number of them would.
        detail: What the reason alone does not say: the conditions that differ, the step of the
            clock, the printed statistic.
        corrected_ratio: The ratio without the overstatement of comparisons that end once they can
            decide; ``None`` where the ratio did not end one.
        is_tested: Whether the verdict is what the comparison was made for. Other metrics are not:
            nothing corrects them for the number of metrics beside them.
        evidence: Level of the weaker side; ``None`` in results of earlier versions.
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
    corrected_ratio: float | None = None
    is_tested: bool = True
    evidence: EvidenceLevel | None = None

    @property
    def is_decided(self) -> bool:
        """Whether it says faster, slower or same."""
        return self.kind in (VerdictKind.FASTER, VerdictKind.SLOWER, VerdictKind.SAME)

    @property
    def rules_out_a_loss(self) -> bool:
        """Whether an open verdict excludes a loss above the threshold.

        Its interval may reach far on the better side.
        """
        interval = self.estimate.interval if self.estimate is not None else None
        if interval is None or self.reason is not Reason.INTERVAL_TOO_WIDE:
            return False
        worst = 1 / interval.low if self.higher_is_better else interval.high
        return worst <= 1 + self.threshold_pct / 100


#: A verdict without its bound, where a legend names kinds alone.
NOT_DETECTED = "not detected"

_REASONS = {
    Reason.BEYOND_THRESHOLD: "beyond the threshold",
    Reason.WITHIN_THRESHOLD: "within the threshold",
    Reason.INTERVAL_TOO_WIDE: "interval too wide",
    Reason.NO_INTERVAL: "no interval",
    Reason.FEW_SAMPLES: "too few samples",
    Reason.ONE_VALUE: "one value a side",
    Reason.CLOCK_STEP: "clock too coarse",
    Reason.BUILD_SPREAD: "builds differ as much",
    Reason.SESSIONS: "sessions differ as much",
    Reason.PROCESS_STATES: "processes at two levels",
    Reason.EXACT: "exact figures",
    Reason.UNSTABLE: "unstable medians",
    Reason.PRINTED_ONLY: "printed figures only",
    Reason.DIFFERENT: "conditions differ",
}


def reason_text(reason: Reason) -> str:
    """Return a reason in words; its code is for files."""
    return _REASONS[reason]


def none_above(bound: float, unit: str = "%") -> str:
    """Return ``no difference above 2.7 %``, the bound rounded up."""
    return f"no difference above {rounded_up(bound)} {unit}"


def rounded_up(bound: float) -> str:
    """Return a bound with two significant digits, never below it."""
    step = 10.0 ** (math.floor(math.log10(bound)) - 1) if bound > 0 else 1.0
    return format_significant(math.ceil(bound / step - 1e-9) * step, 2)


def excluded_pct(interval: Interval) -> float:
    """Return the least change that the interval of a ratio excludes in both directions, percent."""
    return 100 * max(abs(interval.low - 1), abs(interval.high - 1))


def same_text(verdict: Verdict) -> str:
    """Return `none_above` of a verdict that detects no difference, by its interval.

    Exact figures have no interval: they differ by no more than the threshold.
    """
    interval = verdict.estimate.interval if verdict.estimate else None
    return none_above(excluded_pct(interval) if interval else verdict.threshold_pct)


def kind_text(verdict: Verdict, less: str, more: str) -> str:
    """Return a verdict in words: detected, with a direction, not detected, or inconclusive.

    Args:
        less, more: Words of the unit for less and for more of it: ``faster`` and ``slower``.
    """
    if verdict.reason is Reason.PRINTED_ONLY:
        return reason_text(verdict.reason)
    if verdict.kind is VerdictKind.INCOMPARABLE:
        return "not comparable"
    if not verdict.is_tested:
        return "not tested"
    if verdict.kind is VerdictKind.SAME:
        return same_text(verdict)
    if verdict.kind is VerdictKind.INCONCLUSIVE:
        return "inconclusive"
    return more if (verdict.kind is VerdictKind.FASTER) is verdict.higher_is_better else less
