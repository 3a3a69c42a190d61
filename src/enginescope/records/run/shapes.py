"""What one process measured while it changed between shapes."""

from __future__ import annotations

import numpy as np

from enginescope.core.record import Record
from enginescope.judge.samples import Array, frozen
from enginescope.records.run.job import InputShape


class ShapeVisit(Record, frozen=True, kw_only=True):
    """Requests of one shape between two changes.

    Attributes:
        point: Of the rule, from 0.
        parts_ms: What a change takes besides the first request: ``profile``, ``bind``, ``graph``.
        first_ms: The first request.
        later_ms: The requests after it.
        same_ms: A request of the same shape after a pause like the one before the first request.
        is_new: Whether the process ran this shape for the first time.
        is_change: Whether it ran another shape before.
    """

    point: int
    parts_ms: dict[str, float]
    first_ms: float
    later_ms: tuple[float, ...]
    same_ms: float
    is_new: bool = False
    is_change: bool = True

    @property
    def change_ms(self) -> float:
        """The parts of the change and the first request, above the same without a change."""
        return sum(self.parts_ms.values()) + self.first_ms - self.same_ms


class ShapeOutcome(Record, frozen=True, kw_only=True):
    """Visits of one process.

    Attributes:
        visits: In the order in which they were made.
        inputs: Of each point, the shapes of the inputs that have a dynamic dimension.
        profiles: Of each point, the optimization profile that ran it.
        why: Of each point, why it was not measured.
        why_no_graph: Why a CUDA graph could not be captured.
    """

    visits: tuple[ShapeVisit, ...]
    inputs: tuple[tuple[InputShape, ...], ...]
    profiles: tuple[int | None, ...]
    why: tuple[str | None, ...]
    why_no_graph: str | None = None

    @property
    def later_medians(self) -> dict[int, float]:
        """The median of each shape's requests after the first of a visit, in ms."""
        times: dict[int, list[float]] = {}
        for visit in self.visits:
            times.setdefault(visit.point, []).extend(visit.later_ms)
        return {point: float(np.median(values)) for point, values in times.items()}

    @property
    def relative_times(self) -> Array:
        """These requests in the order they were timed, each ÷ the median of its shape."""
        medians = self.later_medians
        return frozen(
            [later / medians[visit.point] for visit in self.visits for later in visit.later_ms]
        )
