"""Figures of a task, from the outputs of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from enginescope.analysis.tasks.base import parse_task
from enginescope.analysis.tasks.task_scoring import TaskLimit, TaskScoring
from enginescope.analysis.validation.validation import Validation
from enginescope.core.errors import UsageError
from enginescope.core.record import replace
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.sample_set import Preprocessing
from enginescope.services.accuracy.request import TaskRequest
from enginescope.services.accuracy.validation_run import ValidationRun


class RequestedTask:
    """A task with its targets and limits."""

    def __init__(self, text: str, request: TaskRequest, preprocessing: Preprocessing) -> None:
        self.text = text
        self.task = parse_task(text)
        self.path = request.targets
        self.targets = self.task.targets(self.path) if self.path else None
        self.limits = self._known(request.limits)
        fit = preprocessing.fit
        if self.targets is not None and fit not in self.task.fits:
            raise UsageError(
                f"`image_fit` {fit}",
                why=f"targets of {self.task.name} refer to the whole image",
                hint=f"`image_fit` {self.task.fits[0]}",
            )

    def _known(self, given: Sequence[tuple[str, float]]) -> tuple[TaskLimit, ...]:
        has_targets = self.targets is not None
        metrics = self.task.metrics if has_targets else self.task.agreement_metrics
        known = [metric.name for metric in metrics]
        for name, _ in given:
            if name not in known:
                where = "" if has_targets else " without targets"
                raise UsageError(
                    f"{self.task.name} has no metric {name!r}{where}",
                    hint=did_you_mean(name, known),
                )
        return tuple(TaskLimit(metric=name, value=value) for name, value in given)


def add_task_figures(
    found: Validation,
    doing: ValidationRun,
    asked: RequestedTask,
    progress: Callable[[int], None],
) -> Validation:
    """Return the comparison with the task's figures of all sides that gave outputs."""
    scoring = TaskScoring(
        asked.task,
        asked.text,
        doing.answers_of,
        found.samples,
        asked.limits,
        skipped={one.sample: one.why for one in found.skipped},
        fail_fast=doing.fails_fast,
    )
    labels = [side.label for side in found.sides if doing.has_answers(side.label)]
    if asked.targets is not None and doing.has_answers(found.reference):
        labels.insert(0, found.reference)
    if not labels:  # nobody answered, which is said of each
        return found
    if asked.targets is None:
        report = scoring.against_reference(found.reference, labels, progress)
    else:
        report = scoring.against_targets(labels, asked.targets, str(asked.path), progress)
    return replace(found, task=report)
