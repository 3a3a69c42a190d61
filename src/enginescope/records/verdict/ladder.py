"""Record a ladder: one model measured in several ways, from its layers to a client's call."""

from __future__ import annotations

from enum import Enum

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Interval
from enginescope.records.run.rounds import RoundsReport


class RungKey(Enum):
    """A way to measure a query; the order is that of the ladder."""

    LAYERS = "layers"
    GRAPH = "graph"
    EAGER = "eager"
    DEVICE = "device"
    SYNC = "sync"
    BOUND = "bound"
    PYTHON = "python"
    PINNED = "pinned"
    PAGEABLE = "pageable"
    ARRAYS = "arrays"
    CLIENT = "client"
    PROVIDER = "provider"
    ONE_AHEAD = "one_ahead"
    STREAMS = "streams"
    ENQUEUE = "enqueue"
    TRTEXEC = "trtexec"


class Rung(Record, frozen=True, kw_only=True):
    """One way to measure a query.

    Attributes:
        count: Streams, or requests in flight, where there are several.
        base: The rung that its step starts from; ``None``: the first one, or not part of a sum.
        value_ms: Median over the processes; ``None``: not measured, see `why`.
        interval: 95 % interval of the level that the processes scatter about.
        processes: Processes whose figures count.
        why: Why there is no figure.
    """

    key: RungKey
    count: int | None = None
    base: RungKey | None = None
    value_ms: float | None = None
    interval: Interval | None = None
    processes: int = 0
    why: str | None = None


class LadderStep(Record, frozen=True, kw_only=True):
    """Difference of two rungs, from the pairs of their processes in each round; in ms."""

    base: RungKey
    to: RungKey
    value_ms: float
    interval: Interval | None = None
    rounds: int = 0


class LadderSum(Record, frozen=True, kw_only=True):
    """Steps from a first to a last rung added up, and the same difference measured as a whole.

    Attributes:
        steps_ms: Sum of the steps.
        whole: The last rung less the first one, round by round.
        is_consistent: Whether the intervals of the sum and of the whole overlap; ``None``: an
            interval is not known.
    """

    steps_ms: float
    whole: LadderStep
    is_consistent: bool | None = None


class Placement(Record, frozen=True, kw_only=True):
    """A figure of the user on the ladder.

    Attributes:
        text: As it was given.
        low_ms, high_ms: All that its digits may stand for: 1.9 ms is 1.85 to 1.95 ms.
        nearest: The rung at the smallest ratio.
        alike: Rungs that the figure fits, in the order of the ladder; with more
            than one, it does not say which.
        below, above: The measured rungs next to it, if it is between any.
    """

    text: str
    value_ms: float
    low_ms: float
    high_ms: float
    nearest: RungKey
    alike: tuple[RungKey, ...] = ()
    below: RungKey | None = None
    above: RungKey | None = None


class LadderReport(Result, RoundsReport, frozen=True, kw_only=True):
    """Where a query's time goes, from the layers to the client.

    Attributes:
        rungs: All of them, those without a figure too.
        sums: One for each way up.
    """

    model: str
    backend: str
    rungs: tuple[Rung, ...]
    steps: tuple[LadderStep, ...] = ()
    sums: tuple[LadderSum, ...] = ()
    mine: Placement | None = None

    @property
    def measured(self) -> tuple[Rung, ...]:
        """The rungs with a figure."""
        return tuple(rung for rung in self.rungs if rung.value_ms is not None)

    def rung(self, key: RungKey) -> Rung | None:
        """Return a rung; ``None`` if the backend has no such rung."""
        return next((rung for rung in self.rungs if rung.key is key), None)

    def level_ms(self, key: RungKey) -> float | None:
        """Return the figure of a rung; ``None`` if it was not measured."""
        rung = self.rung(key)
        return rung.value_ms if rung is not None else None
