"""What a sweep of shapes found: latency by shape, the knee, costs of changes, profiles to build."""

from __future__ import annotations

from typing import Literal

from enginescope.core.record import Record, Result
from enginescope.judge.samples import Interval
from enginescope.records.notice import is_unstable
from enginescope.records.run.job import InputShape
from enginescope.records.run.rounds import RoundsReport

#: ``new``: the first request of a shape that the process runs for the first time, with its change,
#: above a request of the same shape. ``again``: of a shape that the process ran before.
#: Alone: ``profile``, a switch of the optimization profile; ``bind``, shapes and memory of inputs
#: and outputs; ``graph``, a capture of a CUDA graph.
CostKind = Literal["new", "again", "profile", "bind", "graph"]
#: A knee that fewer bootstrap samples have is not decided.
LEAST_SUPPORT = 0.5


class ShapeCost(Record, frozen=True, kw_only=True):
    """What a change of the shape costs.

    Attributes:
        value_ms: Median over processes.
        ratio: Of the first request with its change to one without; ``None`` of a part.
        changes: Of all processes.
    """

    kind: CostKind
    value_ms: float
    interval: Interval | None = None
    ratio: float | None = None
    changes: int = 0


class ShapeLevel(Record, frozen=True, kw_only=True):
    """One shape.

    Attributes:
        size: Of the dimension that is swept; of whole shapes, their elements.
        items: In one request.
        weight: Share of the requests, 0…1.
        latency_ms: Median over processes of the requests after the first one of a visit; ``None``:
            not measured, and `why`.
        interval: Of the latency.
        items_per_s: From the latency, one request at a time.
        inputs: Shapes of inputs with a dynamic dimension.
        profile: Optimization profile that ran it.
        costs: First requests of this shape.
    """

    label: str
    size: int
    items: int
    weight: float = 0.0
    latency_ms: float | None = None
    interval: Interval | None = None
    items_per_s: float | None = None
    items_interval: Interval | None = None
    processes: int = 0
    inputs: tuple[InputShape, ...] = ()
    profile: int | None = None
    costs: tuple[ShapeCost, ...] = ()
    why: str | None = None

    def cost(self, kind: CostKind) -> ShapeCost | None:
        """Return the cost of a kind; ``None`` where it was not measured."""
        return next((one for one in self.costs if one.kind == kind), None)


class Knee(Record, frozen=True, kw_only=True):
    """The smallest shape at which no larger one has `gain_pct` more throughput.

    Attributes:
        label: ``None``: throughput still grows at the largest shape, or `why` it is unknown.
        low, high: Ends of the 95 % interval, from a bootstrap over processes; both ``None``: not
            known. `high` alone ``None``: it may be beyond the largest shape.
        support: Share of the bootstrap samples that have this knee.
    """

    gain_pct: float
    label: str | None = None
    low: str | None = None
    high: str | None = None
    support: float | None = None
    why: str | None = None

    @property
    def is_decided(self) -> bool:
        """Whether at least half of the bootstrap samples have this knee, or none was taken."""
        return self.why is None and (self.support is None or self.support >= LEAST_SUPPORT)

    @property
    def named(self) -> str | None:
        """The knee; ``None`` where it is not decided, or beyond the largest shape."""
        return self.label if self.is_decided else None


class Cliff(Record, frozen=True, kw_only=True):
    """A shape that takes longer than a larger one.

    Attributes:
        ratio: Latency of `label` to that of `faster`, above 1.
        interval: All pairs of shapes together have a confidence of 95 %.
    """

    label: str
    faster: str
    ratio: float
    interval: Interval


class ProposedProfile(Record, frozen=True, kw_only=True):
    """Shapes to build an optimization profile for.

    Attributes:
        low, opt, high: Labels of measured shapes.
        requests, time: Shares of all requests and of all their time, 0…1.
        min_shapes, opt_shapes, max_shapes: Of inputs with a dynamic dimension.
    """

    low: str
    opt: str
    high: str
    requests: float
    time: float
    min_shapes: tuple[InputShape, ...] = ()
    opt_shapes: tuple[InputShape, ...] = ()
    max_shapes: tuple[InputShape, ...] = ()


class TraceUse(Record, frozen=True, kw_only=True):
    """A trace of shapes, as it would run.

    Attributes:
        requests: In the trace.
        padded: Requests that need the next larger measured shape.
        beyond: Requests above the largest measured shape, which are left out.
        changes: Requests whose shape differs from that of the request before.
        change_share: Of the time, that changes take; ``None``: their cost is not known.
    """

    requests: int
    padded: int
    beyond: int
    changes: int
    change_share: float | None = None


class ShapesReport(Result, RoundsReport, frozen=True, kw_only=True):
    """A sweep of shapes of one model; its rounds are processes.

    Attributes:
        file: The model's path, as it was given.
        dimension: That is swept: ``batch``, a name, or an input with whole shapes.
        levels: In ascending order of size.
        costs: Over all shapes.
        weights: Where the weights of the shapes come from.
    """

    model: str
    backend: str
    file: str
    dimension: str
    levels: tuple[ShapeLevel, ...]
    knee: Knee
    cliffs: tuple[Cliff, ...] = ()
    costs: tuple[ShapeCost, ...] = ()
    profiles: tuple[ProposedProfile, ...] = ()
    weights: Literal["uniform", "given", "trace"] = "uniform"
    trace: TraceUse | None = None

    @property
    def measured(self) -> tuple[ShapeLevel, ...]:
        """The shapes that have a latency."""
        return tuple(one for one in self.levels if one.latency_ms is not None)

    def cost(self, kind: CostKind) -> ShapeCost | None:
        """Return the cost of a kind over all shapes; ``None`` where it was not measured."""
        return next((one for one in self.costs if one.kind == kind), None)

    @property
    def is_unstable(self) -> bool:
        """Whether its figures carry no recommendation."""
        return any(map(is_unstable, self.notices))

    @property
    def shape_to_run(self) -> str | None:
        """The knee; ``None`` where it is not decided, or the measurement is unstable."""
        return None if self.is_unstable else self.knee.named

    @property
    def proposals(self) -> tuple[ProposedProfile, ...]:
        """The profiles to build; none of an unstable measurement."""
        return () if self.is_unstable else self.profiles
