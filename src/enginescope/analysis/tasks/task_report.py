"""What answers are worth for a task: every side, what was counted, what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from enginescope.analysis.tasks.base import SampleScore, TaskMetric, TaskScores
from enginescope.core.record import Record


class LeftOut(Record, frozen=True, kw_only=True):
    """A sample that counts for nothing, and why."""

    sample: str
    why: str


class TaskLimit(Record, frozen=True, kw_only=True):
    """The worst value of a metric that is still accepted."""

    metric: str
    value: float


class ScoredSample(Record, frozen=True, kw_only=True):
    """A sample's figures."""

    sample: int
    name: str
    score: SampleScore


class TaskSide(Record, frozen=True, kw_only=True):
    """One side's figures.

    Attributes:
        broken: Limits that it does not keep; a figure that cannot be stated keeps none.
    """

    label: str
    scores: TaskScores
    samples: tuple[ScoredSample, ...] = ()
    broken: tuple[TaskLimit, ...] = ()


class TaskReport(Record, frozen=True, kw_only=True):
    """A task's figures.

    Attributes:
        task, title: As it was asked for, with its options; for people.
        source: What holds the targets; the reference's label.
        counted: Samples that count.
        unused: Targets that no sample has.
    """

    task: str
    title: str
    against: Literal["targets", "reference"]
    source: str
    metrics: tuple[TaskMetric, ...]
    averaged: str
    counted: int
    sides: tuple[TaskSide, ...]
    left_out: tuple[LeftOut, ...] = ()
    unused: tuple[str, ...] = ()
    limits: tuple[TaskLimit, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every side keeps every limit."""
        return not any(side.broken for side in self.sides)


def broken_limits(
    scores: TaskScores, metrics: tuple[TaskMetric, ...], limits: tuple[TaskLimit, ...]
) -> tuple[TaskLimit, ...]:
    """Return the limits that figures do not keep."""
    better = {metric.name: metric.better for metric in metrics}
    return tuple(
        limit for limit in limits if not _keeps(scores.values[limit.metric], limit, better)
    )


def _keeps(value: float | None, limit: TaskLimit, better: Mapping[str, str]) -> bool:
    if value is None:
        return False
    return value <= limit.value if better[limit.metric] == "lower" else value >= limit.value
