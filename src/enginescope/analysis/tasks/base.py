"""What a task must offer, and what it returns.

A task is one file: a class with the attributes and methods of `Task`, and a line in ``registry.py``
or, in another package, an entry point of the group ``enginescope.tasks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import field

from enginescope.core.record import Record
from enginescope.records.notice import Notice
from enginescope.records.run.tensor_values import TensorValues


class TaskMetric(Record, frozen=True, kw_only=True):
    """One figure of a task.

    Attributes:
        name: ``"abs_rel"``.
        title: As people write it: ``"AbsRel"``.
        unit: ``"%"``, or nothing.
    """

    name: str
    title: str
    better: Literal["lower", "higher"]
    unit: str = ""


class SampleScore(Record, frozen=True, kw_only=True):
    """What one sample comes to.

    Attributes:
        values: By metric, and what else is of interest of it.
        left_out: Why it counts for nothing.
    """

    values: dict[str, float | None] = field(default_factory=dict)
    left_out: str | None = None


class ScoredPart(Record, frozen=True, kw_only=True):
    """A part of the whole that has figures of its own: a class."""

    name: str
    values: dict[str, float | None]


class TaskScores(Record, frozen=True, kw_only=True):
    """What all samples come to.

    Attributes:
        values: By metric; ``None``: it cannot be stated.
        more: Other averages of the same, and what explains them.
    """

    values: dict[str, float | None]
    more: dict[str, float | None] = field(default_factory=dict)
    parts: tuple[ScoredPart, ...] = ()
    notices: tuple[Notice, ...] = ()


class Scorer(Protocol):
    """Adds up one side's answers in one pass."""

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a sample's answers.

        Args:
            target: From `Targets.read`; the reference's answers where there are no targets.

        Raises:
            UsageError: No output is of the task's form, or an option does not fit it.
        """

    def result(self) -> TaskScores:
        """Return what was added so far."""


class Targets(Protocol):
    """What is right, by sample.

    Attributes:
        in_order: Whether it belongs to the samples in their order, not by their names.
    """

    in_order: bool

    def base_names(self) -> Sequence[str]:
        """Return base names: a file's path below its folder, without its ending."""

    def read(self, key: str) -> Any:
        """Return what is right for one of `base_names`.

        Raises:
            FormatError: It cannot be read.
        """


class Task(Protocol):
    """Figures of merit for one kind of work.

    Attributes:
        metrics: Against targets.
        agreement_metrics: Against another side's answers.
        averaged, agreement_averaged: Over what the figures are means, in a sentence.
        fits: Ways to fit a picture into an input that its targets stay true for.
    """

    name: str
    title: str
    metrics: tuple[TaskMetric, ...]
    agreement_metrics: tuple[TaskMetric, ...]
    averaged: str
    agreement_averaged: str
    fits: tuple[str, ...]

    def targets(self, path: Path) -> Targets:
        """Return what a file or folder says is right.

        Raises:
            UsageError: There is nothing there.
            FormatError: It cannot be read.
        """

    def against_targets(self) -> Scorer:
        """Return a scorer of answers against `targets`."""

    def against_reference(self) -> Scorer:
        """Return a scorer of answers against another side's."""
