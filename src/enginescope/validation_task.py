"""What the answers of a comparison are worth for a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from enginescope.analysis.task_report import TaskLimit
from enginescope.analysis.task_scoring import TaskScoring
from enginescope.analysis.tasks.registry import parse_task
from enginescope.analysis.validation import Validation
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.model.sample_set import Preprocessing
from enginescope.validation_run import ValidationRun


class AskedTask:
    """A task, and what is right.

    Parameters
    ----------
    text : str
        ``NAME[?KEY=VALUE&…]``.
    targets : path, optional
        What is right, by sample; without, the reference's answers.
    limits : sequence of (str, float)
        The worst figures that are accepted, by metric.
    preprocessing : Preprocessing
        What becomes of pictures.

    Raises
    ------
    UsageError
        The task does not know something of it, or cannot be judged so.
    FormatError
        The targets cannot be read.
    """

    def __init__(
        self,
        text: str,
        targets: Path | None,
        limits: Sequence[tuple[str, float]],
        preprocessing: Preprocessing,
    ) -> None:
        self.text = text
        self.task = parse_task(text)
        self.path = targets
        self.targets = self.task.targets(targets) if targets else None
        self.limits = self._known(limits)
        fit = preprocessing.fit
        if self.targets is not None and fit not in self.task.fits:
            raise UsageError(
                f"--image-fit {fit}",
                why=f"targets of {self.task.name} are of the whole picture",
                hint=f"--image-fit {self.task.fits[0]}",
            )

    def _known(self, given: Sequence[tuple[str, float]]) -> tuple[TaskLimit, ...]:
        has_targets = self.targets is not None
        metrics = self.task.metrics if has_targets else self.task.agreement_metrics
        known = [one.name for one in metrics]
        for name, _ in given:
            if name not in known:
                where = "" if has_targets else " without targets"
                raise UsageError(
                    f"{self.task.name} has no metric {name!r}{where}",
                    hint=did_you_mean(name, known),
                )
        return tuple(TaskLimit(metric=name, value=value) for name, value in given)

    @property
    def stands_alone(self) -> bool:
        """Whether one side is enough: what is right is known."""
        return self.targets is not None


def with_task(
    found: Validation,
    doing: ValidationRun,
    asked: AskedTask,
    progress: Callable[[int], None] = lambda _: None,
) -> Validation:
    """Return the comparison with the task's figures of everyone who answered.

    Raises
    ------
    UsageError
        Answers do not fit the task, or no sample has a target.
    FormatError
        A target cannot be read.
    """
    scoring = TaskScoring(asked.task, asked.text, doing.answers_of, found.samples, asked.limits)
    labels = [one.label for one in found.sides if doing.has_answers(one.label)]
    if asked.targets is not None and doing.has_answers(found.reference):
        labels.insert(0, found.reference)
    if not labels:  # nobody answered, which is said of each
        return found
    if asked.targets is None:
        report = scoring.against_reference(found.reference, labels, progress)
    else:
        report = scoring.against_targets(labels, asked.targets, str(asked.path), progress)
    return msgspec.structs.replace(found, task=report)
