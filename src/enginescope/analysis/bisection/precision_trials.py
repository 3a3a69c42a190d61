"""Ways of keeping nodes in FP32, built and measured: what each costs and mends."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.bisection.precision_proposals import Kind, Proposal
from enginescope.core.record import Record
from enginescope.records.samples import Interval


def front(points: Sequence[tuple[float | None, float | None]]) -> tuple[int, ...]:
    """Return the numbers of the points that nothing is smaller than in one and no larger in both.

    Args:
        points: Smaller is better; a point of which one is not known belongs to nobody's choice.
    """
    known = [(a, b, at) for at, (a, b) in enumerate(points) if a is not None and b is not None]
    best: float | None = None
    found: list[int] = []
    tied: tuple[float, float] | None = None
    for a, b, at in sorted(known):
        if best is None or b < best:
            found.append(at)
            best, tied = b, (a, b)
        elif tied == (a, b):  # the same point twice: both are on it
            found.append(at)
    return tuple(sorted(found))


class PrecisionTrial(Record, frozen=True, kw_only=True):
    """A proposal that was tried.

    Attributes:
        specification: How to have it again: a backend's specification.
        error: The largest RMSE ÷ spread of an output; ``None`` where one is not finite, or nothing
            was answered.
        latency_ms: Median.
        interval: Its 95 % interval.
        failure: Why it could not be built, answered or measured.
    """

    proposal: Proposal
    specification: str
    passes: bool = False
    error: float | None = None
    latency_ms: float | None = None
    interval: Interval | None = None
    failure: str | None = None

    @property
    def kind(self) -> Kind:
        """What kind of proposal it is."""
        return self.proposal.kind


class PrecisionTrials(Record, frozen=True, kw_only=True):
    """All that were tried, and the choice among them.

    Attributes:
        way: How nodes were kept in FP32, in words.
        samples: That each answered.
        why_none: Why there was nothing to try.
    """

    way: str
    trials: tuple[PrecisionTrial, ...] = ()
    samples: int = 0
    why_none: str | None = None

    @property
    def front(self) -> tuple[PrecisionTrial, ...]:
        """Those that nothing is faster than with no larger error, or nearer with no longer time."""
        points = [(trial.latency_ms, trial.error) for trial in self.trials]
        return tuple(self.trials[at] for at in front(points))

    @property
    def suggested(self) -> PrecisionTrial | None:
        """The fastest that passes; of those that cannot be told apart, the one keeping least."""
        passing = [trial for trial in self.trials if trial.passes and trial.latency_ms is not None]
        if not passing:
            return None
        fastest = min(passing, key=lambda one: one.latency_ms or 0.0)
        alike = [one for one in passing if one is fastest or _overlap(one, fastest)]
        return min(alike, key=lambda one: (_kept(one), one.latency_ms or 0.0))

    @property
    def saves_nothing(self) -> bool:
        """Whether all of it in FP32 is no slower than what is suggested."""
        whole = next((trial for trial in self.trials if trial.kind == "all"), None)
        one = self.suggested
        if whole is None or one is None or whole.latency_ms is None or one.latency_ms is None:
            return False
        return whole.latency_ms <= one.latency_ms or _overlap(whole, one)

    @property
    def latency_is_no_reason(self) -> bool:
        """Whether all of it in FP32 is no slower than the side as it is."""
        by_kind = {trial.kind: trial for trial in self.trials}
        whole, plain = by_kind.get("all"), by_kind.get("none")
        if whole is None or plain is None or whole.latency_ms is None or plain.latency_ms is None:
            return False
        return whole.latency_ms <= plain.latency_ms or _overlap(whole, plain)


def _kept(one: PrecisionTrial) -> float:
    return float("inf") if one.kind == "all" else len(one.proposal.nodes)


def _overlap(a: PrecisionTrial, b: PrecisionTrial) -> bool:
    if a.interval is None or b.interval is None:
        return False
    return a.interval.low <= b.interval.high and b.interval.low <= a.interval.high


def worst_error(errors: Sequence[float | None]) -> float | None:
    """Return the largest; ``None`` where one is not known."""
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None
