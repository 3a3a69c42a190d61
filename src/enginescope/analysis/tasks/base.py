"""What a task must offer, and what it returns.

A task is one file: a class with the attributes and methods of `Task`, and a line in `TASKS` or, in
another package, an entry point of the group ``enginescope.tasks``.

Names of tasks and their options, found without importing any.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec import field

from enginescope.core.errors import UsageError
from enginescope.core.plugins import Registry, read_options
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues


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
    """Adds up one side's outputs in one pass."""

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a sample's answers.

        Args:
            target: From `Targets.read`; the reference's outputs where there are no targets.

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
        """Return a scorer of outputs against `targets`."""

    def against_reference(self) -> Scorer:
        """Return a scorer of outputs against another side's."""


#: Classes of tasks, called with the options as texts.
TASKS = Registry(
    "task",
    {
        "classification": "enginescope.analysis.tasks.classification:ClassificationTask",
        "depth": "enginescope.analysis.tasks.depth:DepthTask",
        "detection": "enginescope.analysis.tasks.detection:DetectionTask",
        "segmentation": "enginescope.analysis.tasks.segmentation:SegmentationTask",
    },
)

R = TypeVar("R", bound=Record)


def parse_task(text: str) -> Task:
    """Return the task in ``NAME[?KEY=VALUE&KEY=VALUE]``.

    Raises:
        UsageError: Not of that form, or there is no such task, option or value.
        PluginError: Another package adds it, and it cannot be loaded.
    """
    name, _, tail = text.partition("?")
    return load_task(name, read_options(tail, f"task {text!r}"))


def load_task(name: str, options: Mapping[str, str]) -> Task:
    """Return the task called `name`; raises what `parse_task` raises."""
    return cast("Task", TASKS.call(name, TASKS.load(name), options))


def options_as(kind: type[R], task: str, options: Mapping[str, str]) -> R:
    """Return texts as the fields of a record; numbers and truth values by the fields' types.

    Raises:
        UsageError: No field of that name, or a value of another type.
    """
    known = tuple(field.name for field in msgspec.structs.fields(kind))
    for key in options:
        if key not in known:
            raise UsageError(f"{task} has no option {key!r}", hint=did_you_mean(key, known))
    try:
        return msgspec.convert(dict(options), kind, strict=False)
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `$.")
        key = place.rstrip("`")
        if key not in options:
            raise UsageError(f"options of {task}", why=str(error)) from None
        hint, allowed = None, get_args(get_type_hints(kind)[key])
        if words := [word for word in allowed if isinstance(word, str)]:
            why, hint = "no such value", did_you_mean(options[key], words)
        raise UsageError(f"option {key}={options[key]} of {task}", why=why, hint=hint) from None
