"""Ways of keeping nodes in FP32, built and measured: what each costs and mends."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.analysis.pareto import front
from enginescope.analysis.precision_proposals import Kind, Proposal
from enginescope.core.record import Record
from enginescope.model.samples import Interval


class PrecisionTrial(Record, frozen=True, kw_only=True):
    """A proposal that was tried.

    Attributes
    ----------
    proposal : Proposal
    specification : str
        How to have it again: a backend's specification.
    passes : bool
    error : float or None
        The largest RMSE ÷ spread of an output; ``None`` where one is not finite, or nothing was
        answered.
    latency_ms : float or None
        Median.
    interval : Interval or None
        Its 95 % interval.
    failure : str or None
        Why it could not be built, answered or measured.
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

    Attributes
    ----------
    way : str
        How nodes were kept in FP32, in words.
    trials : tuple of PrecisionTrial
    samples : int
        That each answered.
    why_none : str or None
        Why there was nothing to try.
    """

    way: str
    trials: tuple[PrecisionTrial, ...] = ()
    samples: int = 0
    why_none: str | None = None

    @property
    def front(self) -> tuple[PrecisionTrial, ...]:
        """Those that nothing is faster than with no larger error, or nearer with no longer time."""
        points = [(one.latency_ms, one.error) for one in self.trials]
        return tuple(self.trials[at] for at in front(points))

    @property
    def suggested(self) -> PrecisionTrial | None:
        """The fastest that passes; of those that cannot be told apart, the one keeping least."""
        passing = [one for one in self.trials if one.passes and one.latency_ms is not None]
        if not passing:
            return None
        fastest = min(passing, key=lambda one: one.latency_ms or 0.0)
        alike = [one for one in passing if one is fastest or _overlap(one, fastest)]
        return min(alike, key=lambda one: (_kept(one), one.latency_ms or 0.0))

    @property
    def saves_nothing(self) -> bool:
        """Whether all of it in FP32 is no slower than what is suggested."""
        whole = next((one for one in self.trials if one.kind == "all"), None)
        one = self.suggested
        if whole is None or one is None or whole.latency_ms is None or one.latency_ms is None:
            return False
        return whole.latency_ms <= one.latency_ms or _overlap(whole, one)


def _kept(one: PrecisionTrial) -> float:
    return float("inf") if one.kind == "all" else len(one.proposal.nodes)


def _overlap(a: PrecisionTrial, b: PrecisionTrial) -> bool:
    if a.interval is None or b.interval is None:
        return False
    return a.interval.low <= b.interval.high and b.interval.low <= a.interval.high


def worst_error(errors: Sequence[float | None]) -> float | None:
    """Return the largest; ``None`` where one is not known."""
    known = [one for one in errors if one is not None]
    return max(known) if known and len(known) == len(errors) else None
