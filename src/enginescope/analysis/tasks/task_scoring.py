"""Pair samples with their targets, and turn outputs of several sides into a task's figures.

What outputs are worth for a task: every side, what was counted, what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from enginescope.analysis.tasks.base import (
    SampleScore,
    Scorer,
    Targets,
    Task,
    TaskMetric,
    TaskScores,
)
from enginescope.core.errors import EnginescopeError, FormatError, UsageError
from enginescope.core.record import Record, replace
from enginescope.records.run.run import TensorValues


class Pairing(Record, frozen=True, kw_only=True):
    """Which sample has which target.

    Attributes:
        pairs: A sample's number and its target's key.
        without_target, unused: Samples and targets that nothing was found for.
    """

    pairs: tuple[tuple[int, str], ...]
    without_target: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def base_name(name: str) -> str:
    """Return a path below a folder without its ending: ``b/img001.jpg`` → ``b/img001``."""
    return PurePosixPath(name).with_suffix("").as_posix() if name else name


def paired(samples: Sequence[str], keys: Sequence[str]) -> Pairing:
    """Return pairs of the same base name.

    Whole paths first, so that equal names in several folders stay apart; then the last part of the
    path, where it is the only one of its name on either side.
    """
    left = dict.fromkeys(keys)
    found: dict[int, str] = {}
    for number, name in enumerate(samples):
        key = base_name(name)
        if key in left:
            found[number] = key
            del left[key]
    short = _unique(list(left))
    open_numbers = [number for number in range(len(samples)) if number not in found]
    ours = _unique([base_name(samples[number]) for number in open_numbers])
    for number in open_numbers:
        name = base_name(samples[number])
        last = PurePosixPath(name).name
        key = short.get(last) or ""
        if key and ours.get(last) == name:
            found[number] = key
            del left[key]
    return Pairing(
        pairs=tuple(sorted(found.items())),
        without_target=tuple(name for n, name in enumerate(samples) if n not in found),
        unused=tuple(left),
    )


def in_order(samples: Sequence[str], keys: Sequence[str]) -> Pairing:
    """Return pairs of the same place; what is over on either side has no pair."""
    count = min(len(samples), len(keys))
    return Pairing(
        pairs=tuple(enumerate(keys[:count])),
        without_target=tuple(samples[count:]),
        unused=tuple(keys[count:]),
    )


def _unique(paths: Sequence[str]) -> dict[str, str | None]:
    """Return last part -> path; ``None`` where several end alike."""
    found: dict[str, str | None] = {}
    for path in paths:
        last = PurePosixPath(path).name
        found[last] = None if last in found else path
    return found


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
    falling = {metric.name for metric in metrics if metric.better == "lower"}
    broken = []
    for limit in limits:
        value, is_most = scores.values[limit.metric], limit.metric in falling
        within = value is not None and (value <= limit.value if is_most else value >= limit.value)
        broken += [] if within else [limit]
    return tuple(broken)


#: Return a side's outputs to a sample, by label and number.
AnswersOf = Callable[[str, int], Sequence[TensorValues]]


@dataclass(frozen=True, slots=True)
class TaskScoring:
    """Scores a task.

    Args:
        text: As it was asked for.
        samples: Their names.
        skipped: Samples without answers, and why.
        fail_fast: Raise where a target cannot be read, instead of leaving its sample out.
    """

    task: Task
    text: str
    answers_of: AnswersOf
    samples: Sequence[str]
    limits: Sequence[TaskLimit] = ()
    skipped: Mapping[int, str] = field(default_factory=dict, kw_only=True)
    fail_fast: bool = field(default=False, kw_only=True)

    def against_targets(
        self,
        labels: Sequence[str],
        targets: Targets,
        source: str,
        progress: Callable[[int], None] = lambda _: None,
    ) -> TaskReport:
        """Return the figures of sides against what is right."""
        keys = targets.base_names()
        pairing = in_order(self.samples, keys) if targets.in_order else paired(self.samples, keys)
        if not pairing.pairs:
            raise UsageError(
                f"targets {source}",
                why="no target has the base name of a sample: "
                f"{_some(self.samples)}; {_some(keys)}",
            )
        book = _Book(self, {label: self.task.against_targets() for label in labels})
        for number, key in pairing.pairs:
            progress(number)
            if number in self.skipped:
                continue
            try:
                target = targets.read(key)
            except FormatError as error:
                is_last = number == pairing.pairs[-1][0]
                if self.fail_fast or (is_last and not book.counted):
                    raise
                book.left_out.append(LeftOut(sample=self.samples[number], why=f"target {error}"))
                continue
            book.add(number, target)
        missing = (LeftOut(sample=one, why="no target") for one in pairing.without_target)
        found = self._report(book, "targets", source)
        return replace(found, left_out=(*missing, *found.left_out), unused=pairing.unused)

    def against_reference(
        self,
        reference: str,
        labels: Sequence[str],
        progress: Callable[[int], None] = lambda _: None,
    ) -> TaskReport:
        """Return the figures of sides against another side's answers."""
        book = _Book(self, {label: self.task.against_reference() for label in labels})
        for number in range(len(self.samples)):
            progress(number)
            if number not in self.skipped:
                book.add(number, self.answers_of(reference, number))
        return self._report(book, "reference", reference)

    def _report(
        self, book: _Book, against: Literal["targets", "reference"], source: str
    ) -> TaskReport:
        task, has_targets = self.task, against == "targets"
        metrics = task.metrics if has_targets else task.agreement_metrics
        results = {label: scorer.result() for label, scorer in book.scorers.items()}
        limits = tuple(self.limits)
        return TaskReport(
            task=self.text,
            title=task.title,
            against=against,
            source=source,
            metrics=metrics,
            averaged=task.averaged if has_targets else task.agreement_averaged,
            counted=book.counted,
            sides=tuple(
                TaskSide(
                    label=label,
                    scores=scores,
                    samples=tuple(book.samples[label]),
                    broken=broken_limits(scores, metrics, limits),
                )
                for label, scores in results.items()
            ),
            left_out=tuple(book.left_out),
            limits=limits,
        )


class _Book:
    def __init__(self, scoring: TaskScoring, scorers: dict[str, Scorer]) -> None:
        self._names, self._answers_of = scoring.samples, scoring.answers_of
        self.scorers = scorers
        self.samples: dict[str, list[ScoredSample]] = {label: [] for label in scorers}
        skipped = scoring.skipped.items()
        self.left_out = [LeftOut(sample=self._names[number], why=why) for number, why in skipped]
        self.counted = 0

    def add(self, number: int, target: Any) -> None:
        name = self._names[number]
        reasons = {}
        for label, scorer in self.scorers.items():
            try:
                score = scorer.add(self._answers_of(label, number), target)
            except EnginescopeError as error:
                error.what = f"{label}, sample {number} ({name}): {error.what}"
                raise
            self.samples[label].append(ScoredSample(sample=number, name=name, score=score))
            if score.left_out:
                reasons[label] = score.left_out
        whys = [f"{label}: {why}" for label, why in reasons.items()]
        if len(reasons) == len(self.scorers) and len(set(reasons.values())) == 1:
            whys = [*set(reasons.values())]
        self.left_out += [LeftOut(sample=name, why=why) for why in whys]
        self.counted += len(reasons) < len(self.scorers)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
