"""The class of every pixel.

Intersection over union as PASCAL VOC and Cityscapes define it (Everingham and others, "The PASCAL
Visual Object Classes Challenge: A Retrospective", 2015): true positives ÷ (true positives + false
positives + false negatives) of a class, counted over the pixels of the *whole set*, not averaged
over pictures; mIoU is the mean over classes. Classes that neither targets nor outputs hold are left
out of it; pixels whose target is to be ignored are left out of all.

Maps at another size.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

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
from enginescope.analysis.tasks.box_outputs import named_output, shapes_text, single_maps
from enginescope.analysis.tasks.classification import ClassNames
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.tensors.target_files import FolderTargets, load_map
from enginescope.records.run.run import TensorValues


def bilinear(values: Any, size: tuple[int, int]) -> Any:
    """Return maps, … × height × width, at another size, in float64.

    Pixels are areas (half-pixel centers) and edges repeat, as OpenCV's INTER_LINEAR and PyTorch's
    ``align_corners=False`` have it; nothing is averaged where a map gets smaller.
    """
    maps = np.asarray(values, dtype=np.float64)
    if maps.shape[-2:] == size:
        return maps
    # columns first: whole rows are then copied, which is most of the work where a map grows
    left, right, across = _between(maps.shape[-1], size[1])
    with np.errstate(invalid="ignore"):  # an infinity times nothing
        wide = np.take(maps, left, axis=-1) * (1 - across) + np.take(maps, right, axis=-1) * across
        top, bottom, down = _between(maps.shape[-2], size[0])
        return wide[..., top, :] * (1 - down)[:, None] + wide[..., bottom, :] * down[:, None]


def nearest(values: Any, size: tuple[int, int]) -> Any:
    """Return a map at another size, every value that of the pixel its center lies in."""
    height, width = values.shape[-2:]
    rows = ((np.arange(size[0]) + 0.5) * height / size[0]).astype(int)
    columns = ((np.arange(size[1]) + 0.5) * width / size[1]).astype(int)
    return values[..., rows[:, None], columns]


def _between(length: int, wanted: int) -> tuple[Any, Any, Any]:
    """Return the neighbors of each wanted place, and how far it is from the first."""
    place = np.clip((np.arange(wanted) + 0.5) * length / wanted - 0.5, 0, length - 1)
    below = np.floor(place).astype(int)
    return below, np.minimum(below + 1, length - 1), place - below


METRICS: tuple[TaskMetric, ...] = (
    TaskMetric(name="miou", title="mIoU", better="higher", unit="%"),
    TaskMetric(name="pixel_accuracy", title="pixels", better="higher", unit="%"),
    TaskMetric(name="mean_accuracy", title="mean of classes", better="higher", unit="%"),
)


class SegmentationOptions(Record, frozen=True, kw_only=True):
    """What has to be known of outputs and targets.

    Attributes:
        output: Which; ``None``: the first that has a score for each class, or a class, for each
            pixel.
        layout: Where the classes are.
        threshold: Of an output of one channel: above it a pixel is of class 1, else of class 0.
        ignore: Label of pixels that do not count.
        shift: Added to labels that are not ignored; those that fall below 0 are.
        names: File with the name of each class.
    """

    output: str | None = None
    layout: Literal["nchw", "nhwc"] = "nchw"
    threshold: float | None = None
    ignore: int = 255
    shift: int = 0
    names: str | None = None


class SegmentationTask:
    """The task ``segmentation``; a `Task`."""

    name = "segmentation"
    title = "Segmentation"
    metrics = METRICS
    agreement_metrics = METRICS
    averaged = "counted over all pixels of the set, then a mean over classes"
    agreement_averaged = "counted over all pixels of the set; right is the reference's class"
    fits: tuple[str, ...] = ("stretch",)

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options_as(SegmentationOptions, self.name, options)
        self._names = ClassNames(self._options.names)

    def targets(self, path: Path) -> Targets:
        """Return the maps of classes in a folder."""
        return FolderTargets(path, (".png", ".npy", ".npz"), self._labels)

    def _labels(self, path: Path) -> Any:
        """Return classes of pixels; −1 for those that do not count."""
        found = load_map(path, with_palette=True).astype(np.int64)
        moved = np.where(found == self._options.ignore, -1, found + self._options.shift)
        return np.maximum(moved, -1)

    def against_targets(self) -> Scorer:
        """Return the scorer against maps of classes."""
        return PixelClasses(self._options, self._names)

    def against_reference(self) -> Scorer:
        """Return the scorer against another side's classes."""
        return PixelClasses(self._options, self._names, of_answers=True)


class PixelClasses:
    """Counts pixels by target and output, over the whole set; a `Scorer`."""

    def __init__(
        self, options: SegmentationOptions, names: ClassNames, *, of_answers: bool = False
    ) -> None:
        self._options, self._names, self._of_answers = options, names, of_answers
        self._counts = np.zeros((0, 0), dtype=np.int64)

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a sample; with targets, of one picture, brought to the target's size."""
        if self._of_answers:
            wanted, classes = self._classes(target, None)
            given, more = self._classes(answers, wanted.shape[-2:])
            classes = max(classes, more)
        else:
            wanted = target[None]
            given, classes = self._classes(answers, target.shape)
        if given.shape != wanted.shape:
            why = f"an output has {len(given)} maps"
            raise UsageError("segmentation: one image per sample", why=why)
        known = wanted >= 0
        if not known.any():
            return SampleScore(left_out="every pixel of its target is to be ignored")
        highest = int(wanted.max())
        if classes and highest >= classes:
            raise UsageError(
                f"segmentation: label {highest} in the target",
                why=f"the output has {classes} classes",
                hint="?ignore=LABEL leaves pixels out, ?shift=-1 moves labels",
            )
        own = _confusion(wanted[known], given[known], classes)
        counts = np.zeros((max(len(own), len(self._counts)),) * 2, dtype=np.int64)
        for each in (self._counts, own):
            counts[: len(each), : len(each)] += each
        self._counts = counts
        return SampleScore(values=_figures(own))

    def _classes(
        self, answers: Sequence[TensorValues], size: tuple[int, int] | None
    ) -> tuple[Any, int]:
        """Return the class of every pixel, items × height × width, and how many there may be."""
        options = self._options
        for one in named_output(answers, options.output, "segmentation"):
            maps = single_maps(one)
            if maps is not None and kind_of(one.dtype) == "int":
                found = maps.astype(np.int64)
                return (nearest(found, size) if size else found), 0
            if maps is not None and options.threshold is not None:
                scaled = bilinear(maps, size) if size else maps
                return (scaled > options.threshold).astype(np.int64), 2
            if len(one.shape) == 4 and maps is None and kind_of(one.dtype) == "float":
                scores = flat_numbers(one).reshape(one.shape)
                if options.layout == "nhwc":
                    scores = np.moveaxis(scores, 3, 1)
                found = np.stack([_best(item, size) for item in scores])
                return found, int(scores.shape[1])
        raise UsageError(
            "segmentation: no output holds classes of pixels",
            why=shapes_text(answers),
            hint="1×classes×height×width; classes as integers; ?threshold=0.5 of one channel",
        )

    def result(self) -> TaskScores:
        """Return the figures of all pixels, and each class's intersection over union."""
        counts = self._counts
        parts = tuple(
            ScoredPart(name=self._names.name(at), values={"IoU %": float(100 * share)})
            for at, share in enumerate(_shares(counts))
            if counts[at].any() or counts[:, at].any()
        )
        pixels = float(counts.sum())
        return TaskScores(values=_figures(counts), more={"pixels": pixels}, parts=parts)


def _best(scores: Any, size: tuple[int, int] | None) -> Any:
    """Return the class of the greatest score, scores brought to `size` before that.

    Class by class, so that a hundred classes at the size of a picture need no memory of their own.
    """
    best = found = None
    for at, plane in enumerate(scores):
        values = bilinear(plane, size) if size else plane.astype(np.float64)
        if best is None or found is None:
            best = np.where(np.isnan(values), -np.inf, values)
            found = np.zeros(values.shape, dtype=np.int64)
            continue
        np.copyto(found, at, where=values > best)
        np.fmax(best, values, out=best)  # NaN is not a score
    return found


def _confusion(wanted: Any, given: Any, classes: int) -> Any:
    count = max(classes, int(wanted.max()) + 1, int(given.max()) + 1)
    if count > 4096 or int(given.min()) < 0:
        raise UsageError(
            "segmentation: values are not class numbers",
            why=f"{int(given.min())} … {int(max(given.max(), wanted.max()))}",
        )
    return np.bincount(wanted * count + given, minlength=count * count).reshape(count, count)


def _shares(counts: Any) -> Any:
    """Return intersection over union of each class; NaN of one that nobody has."""
    right = np.diag(counts).astype(np.float64)
    union = counts.sum(axis=0) + counts.sum(axis=1) - right
    return np.divide(right, union, out=np.full(len(counts), np.nan), where=union > 0)


def _figures(counts: Any) -> dict[str, float | None]:
    if not counts.sum():
        return {one.name: None for one in METRICS}
    right, rows = np.diag(counts).astype(np.float64), counts.sum(axis=1)
    seen = rows > 0
    return {
        "miou": float(100 * np.nanmean(_shares(counts))),
        "pixel_accuracy": float(100 * right.sum() / counts.sum()),
        "mean_accuracy": float(100 * (right[seen] / rows[seen]).mean()),
    }
