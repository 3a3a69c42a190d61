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

    Attributes
    ----------
    label : str
    scores : TaskScores
    samples : tuple of ScoredSample
    broken : tuple of TaskLimit
        Limits that it does not keep; a figure that cannot be stated keeps none.
    """

    label: str
    scores: TaskScores
    samples: tuple[ScoredSample, ...] = ()
    broken: tuple[TaskLimit, ...] = ()


class TaskReport(Record, frozen=True, kw_only=True):
    """A task's figures.

    Attributes
    ----------
    task, title : str
        As it was asked for, with its options; for people.
    against : {"targets", "reference"}
    source : str
        What holds the targets; the reference's label.
    metrics : tuple of TaskMetric
    averaged : str
    counted : int
        Samples that count.
    left_out : tuple of LeftOut
    unused : tuple of str
        Targets that no sample has.
    limits : tuple of TaskLimit
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
        return not any(one.broken for one in self.sides)


def broken_limits(
    scores: TaskScores, metrics: tuple[TaskMetric, ...], limits: tuple[TaskLimit, ...]
) -> tuple[TaskLimit, ...]:
    """Return the limits that figures do not keep."""
    better = {one.name: one.better for one in metrics}
    return tuple(one for one in limits if not _keeps(scores.values[one.metric], one, better))


def _keeps(value: float | None, limit: TaskLimit, better: Mapping[str, str]) -> bool:
    if value is None:
        return False
    return value <= limit.value if better[limit.metric] == "lower" else value >= limit.value
