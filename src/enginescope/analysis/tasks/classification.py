"""The class of a picture: how often it is the best, or among the five best.

Top-1 and top-5 accuracy as the ImageNet challenge counts them (Russakovsky and others, "ImageNet
Large Scale Visual Recognition Challenge", 2015): every picture once, a mean over pictures. Of equal
scores the class of the lower number is the better one.

Classes by number and by name.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.analysis.tasks.base import (
    SampleScore,
    ScoredPart,
    Scorer,
    Targets,
    TaskMetric,
    TaskScores,
    options_as,
)
from enginescope.analysis.tasks.box_outputs import named_output, shapes_text
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.formats.tensors.target_files import LabelFile, read_labels
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues


class ClassNames:
    """What the classes of a model are called.

    Args:
        file: A line for each class in the order of the model's output; a line's first word alone
            also names it (``n01440764 tench, Tinca tinca``).
    """

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._names = _lines(Path(file)) if file else ()
        self._numbers = {one: at for at, one in enumerate(self._names)}
        for at, one in enumerate(self._names):
            self._numbers.setdefault(one.split()[0], at)

    def name(self, number: int) -> str:
        """Return a class's name; its number where none is known."""
        return self._names[number] if 0 <= number < len(self._names) else str(number)

    def number(self, label: str, others: Sequence[str] = ()) -> int:
        """Return the number of a class.

        Args:
            label: A name, where they are known; a number; or one of `others`.
            others: All labels there are: without names, and where they are not numbers, their
                alphabetical order is that of the model's output, as folders of classes are read
                elsewhere.
        """
        if label in self._numbers:
            return self._numbers[label]
        if label.isdecimal():
            return int(label)
        if self._names:
            hint = did_you_mean(label, list(self._numbers)[:200])
            raise UsageError(f"no class in {self._file} is called {label!r}", hint=hint)
        if label in others:
            return sorted(others).index(label)
        raise UsageError(f"class {label!r}", why="it is not a number", hint="names=FILE names them")


def _lines(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"names {path}", why=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise FormatError(str(path), why="it is not UTF-8") from error
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise FormatError(str(path), why="it holds no names", expected="one class per line")
    return found


METRICS: tuple[TaskMetric, ...] = (
    TaskMetric(name="top1", title="top-1", better="higher", unit="%"),
    TaskMetric(name="top5", title="top-5", better="higher", unit="%"),
)
#: Of the normal distribution, for 95 %.
_Z = 1.96


class ClassificationOptions(Record, frozen=True, kw_only=True):
    """What has to be known of outputs and labels.

    Attributes:
        output: Which; ``None``: the first that holds scores of classes.
        names: File with the name of each class, in the order of the output.
        offset: Added to a label's number: 1 for models whose class 0 is the background.
    """

    output: str | None = None
    names: str | None = None
    offset: int = 0


class ClassificationTask:
    """The task ``classification``; a `Task`."""

    name = "classification"
    title = "Classification"
    metrics = METRICS
    agreement_metrics = METRICS
    averaged = "means over the images, each counted once"
    agreement_averaged = "means over the images; correct is the reference's best class"
    fits: tuple[str, ...] = ("stretch", "crop", "pad")

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options_as(ClassificationOptions, self.name, options)
        self._names = ClassNames(self._options.names)

    def targets(self, path: Path) -> Targets:
        """Return the labels in a folder of classes, a CSV or a text."""
        return NumberedLabels(read_labels(path), self._names, self._options.offset)

    def against_targets(self) -> Scorer:
        """Return the scorer against labels."""
        return TopClasses(self._options.output, self._names)

    def against_reference(self) -> Scorer:
        """Return the scorer against another side's best class."""
        return TopClasses(self._options.output, self._names, of_answers=True)


class NumberedLabels:
    """Labels as numbers of classes; `Targets`."""

    def __init__(self, labels: LabelFile, names: ClassNames, offset: int) -> None:
        self._labels, self._names, self._offset = labels, names, offset
        self.in_order = labels.in_order

    def base_names(self) -> tuple[str, ...]:
        """Return the base names of what is labeled."""
        return self._labels.base_names()

    def read(self, key: str) -> int:
        """Return the number of a class."""
        number = self._names.number(self._labels.read(key), self._labels.known)
        return number + self._offset


class TopClasses:
    """Counts pictures whose class is among the best; a `Scorer`.

    Args:
        of_answers: Whether targets are another side's answers.
    """

    def __init__(self, output: str | None, names: ClassNames, *, of_answers: bool = False) -> None:
        self._output, self._names, self._of_answers = output, names, of_answers
        self._counts: dict[int, list[int]] = {}
        self._items = self._not_finite = 0
        self._has_scores = True

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a sample; with labels, of one picture."""
        scores = self._scores_of(answers)
        if self._of_answers:
            theirs = self._scores_of(target)
            wanted = [_agreed_class(a, b) for a, b in zip(theirs, scores, strict=False)]
        else:
            wanted = [int(target)]
        if len(wanted) != len(scores):
            why = f"an output has {len(scores)} rows"
            raise UsageError("classification: one image per sample", why=why)
        ranks = [self._rank(row, one) for row, one in zip(scores, wanted, strict=True)]
        for rank, one in zip(ranks, wanted, strict=True):
            count = self._counts.setdefault(one, [0, 0, 0])
            count[0] += rank < 1
            count[1] += rank < 5
            count[2] += 1
        top = [100 * sum(rank < most for rank in ranks) / len(ranks) for most in (1, 5)]
        return SampleScore(
            values={
                "top1": top[0],
                "top5": top[1] if self._has_scores else None,
                "class": float(wanted[0]),
                "best": float(best_class(scores[0])),
            }
        )

    def _scores_of(self, answers: Sequence[TensorValues]) -> Any:
        """Return scores, items × classes; an output of one whole number each is the class."""
        for one in named_output(answers, self._output, "classification"):
            kind, shape = kind_of(one.dtype), tuple(size for size in one.shape if size != 1)
            if kind == "float" and len(shape) in (1, 2) and shape[-1] > 1:
                values = flat_numbers(one).astype(np.float64)
                return values.reshape(shape if len(shape) == 2 else (1, -1))
            if kind == "int" and math.prod(one.shape) == 1:
                self._has_scores = False
                return flat_numbers(one).reshape(1, 1)
        why = shapes_text(answers)
        message = "classification: no output holds scores of classes"
        raise UsageError(message, why=why, hint="?output=NAME")

    def _rank(self, row: Any, wanted: int) -> float:
        self._items += 1
        if row.size == 1:  # the class itself
            return 0 if int(row[0]) == wanted else math.inf
        if not 0 <= wanted < row.size:
            raise UsageError(
                f"classification: class {wanted}",
                why=f"the output has {row.size:,} classes",
                hint="?offset=N is added to labels",
            )
        if not np.isfinite(row[wanted]) or np.isnan(row).any():
            self._not_finite += 1
            return math.inf
        better = int(np.count_nonzero(row > row[wanted]))
        if self._of_answers:  # as the comparison of tensors has it
            return 0 if best_class(row) == wanted else max(1, better)
        return better + int(np.count_nonzero(row[:wanted] == row[wanted]))

    def result(self) -> TaskScores:
        """Return shares over pictures, their intervals, and each class's."""
        first, five = (sum(count[at] for count in self._counts.values()) for at in (0, 1))
        total = self._items
        low, high = wilson_pct(first, total)
        text = f"{self._not_finite:,} outputs contain NaN and count as wrong"
        return TaskScores(
            values={
                "top1": 100 * first / total if total else None,
                "top5": 100 * five / total if total and self._has_scores else None,
            },
            more={"top1_low": low, "top1_high": high},
            parts=tuple(
                ScoredPart(name=self._names.name(one), values={"top-1 %": 100 * held[0] / held[2]})
                for one, held in sorted(self._counts.items())
            ),
            notices=(Notice("W-SCORES-NOT-FINITE", text),) if self._not_finite else (),
        )


def best_class(row: Any) -> int:
    """Return the class of the greatest score, the lowest of equals; of a class, itself."""
    return int(row[0]) if row.size == 1 else int(np.argmax(np.where(np.isnan(row), -np.inf, row)))


def _agreed_class(theirs: Any, ours: Any) -> int:
    """Return the reference's best class; of several that tie there, the one that is best here."""
    best = best_class(theirs)
    if theirs.size == 1:
        return best
    ties = np.flatnonzero(theirs == theirs[best])
    if ours.size == theirs.size and ties.size:
        return int(ties[np.argmax(ours[ties])])
    return best_class(ours) if best_class(ours) in ties else best


def wilson_pct(right: int, total: int) -> tuple[float | None, float | None]:
    """Return Wilson's 95 % interval of a share, in percent; ``None`` of nothing."""
    if not total:
        return None, None
    share, square = right / total, _Z * _Z / total
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / total + square / (4 * total)) / (1 + square)
    return 100 * (middle - half), 100 * (middle + half)
