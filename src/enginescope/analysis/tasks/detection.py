"""Boxes around objects: average precision, by pycocotools.

The figures are those of COCO's own program (Lin and others, "Microsoft COCO: Common Objects in
Context", 2014, and cocodataset.org): precision averaged over recall, over ten overlaps of 0.5 …
0.95 and over classes, of the whole set at once. Nothing of it is computed here.
"""

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from enginescope.analysis.tasks.base import (
    SampleScore,
    ScoredPart,
    Scorer,
    Targets,
    TaskMetric,
    TaskScores,
    options_as,
)
from enginescope.analysis.tasks.box_outputs import BoxLayout, boxes_of
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.formats.tensors.target_files import CocoBoxes, KnownBoxes
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues

#: Name, title, and place among the figures of COCO's program.
_PLACES = (
    ("ap", "AP", 0),
    ("ap50", "AP50", 1),
    ("ap75", "AP75", 2),
    ("ap_small", "small", 3),
    ("ap_medium", "medium", 4),
    ("ap_large", "large", 5),
    ("ar100", "AR100", 8),
)
METRICS: tuple[TaskMetric, ...] = tuple(
    TaskMetric(name=name, title=title, better="higher", unit="%") for name, title, _ in _PLACES
)


class DetectionOptions(BoxLayout, frozen=True, kw_only=True):
    """What has to be known of outputs and labels, beside the layout.

    Attributes:
        classes: Labels are COCO's category ids, or places in the list of categories by id, from 0.
        offset: Added to the model's labels before that.
        confidence: Without targets, boxes of the reference from this score on are right.
    """

    classes: Literal["ids", "order"] = "ids"
    offset: int = 0
    confidence: float = 0.5


class DetectionTask:
    """The task ``detection``; a `Task`."""

    name = "detection"
    title = "Detection"
    metrics = METRICS
    agreement_metrics = METRICS
    averaged = "COCO's: of the whole set, over overlaps of 0.5 … 0.95 and over classes"
    agreement_averaged = "COCO's, of the whole set; right are the reference's surer boxes"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options_as(DetectionOptions, self.name, options)
        self.fits: tuple[str, ...] = (self._options.fit,)
        _coco()

    def targets(self, path: Path) -> Targets:
        """Return the objects in a file of COCO's."""
        if path.is_dir():
            raise UsageError(
                f"targets {path}", why="objects are in one file", hint="instances_val2017.json"
            )
        return CocoBoxes(path)

    def against_targets(self) -> Scorer:
        """Return the scorer against known objects."""
        return AveragePrecision(self._options)

    def against_reference(self) -> Scorer:
        """Return the scorer against another side's surer boxes."""
        return AveragePrecision(self._options, of_answers=True)


def _coco() -> tuple[Any, Any]:
    purpose, install = "average precision", "enginescope[detection]"
    held = require("pycocotools.coco", purpose=purpose, install=install)
    judge = require("pycocotools.cocoeval", purpose=purpose, install=install)
    return held.COCO, judge.COCOeval


class AveragePrecision:
    """Keeps boxes, and lets COCO's program judge them; a `Scorer`."""

    def __init__(self, options: DetectionOptions, *, of_answers: bool = False) -> None:
        self._options, self._of_answers = options, of_answers
        self._images: list[dict[str, Any]] = []
        self._right: list[dict[str, Any]] = []
        self._given: list[dict[str, Any]] = []
        self._categories: dict[int, str] = {}
        self._odd = 0

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a picture's boxes."""
        number = len(self._images) + 1
        given = boxes_of(answers, self._options)
        self._odd += given.odd
        if self._of_answers:
            right = boxes_of(target, self._options)
            sure = right.scores >= self._options.confidence
            self._images.append({"id": number})
            self._right += _known_entries(right.corners[sure], right.labels[sure], number)
            self._categories |= {int(label): str(int(label)) for label in right.labels[sure]}
            labels = given.labels
        else:
            known: KnownBoxes = target
            width, height = known.image.width, known.image.height
            self._images.append({"id": number, "width": width, "height": height})
            self._right += _target_entries(known, number)
            self._categories |= {kind.id: kind.name or str(kind.id) for kind in known.categories}
            given = given.in_picture(width, height, self._options)
            labels = self._ids(given.labels, [kind.id for kind in known.categories])
        self._given += [
            {
                "image_id": number,
                "category_id": int(label),
                "bbox": [float(x) for x in (*corner[:2], *(corner[2:] - corner[:2]))],
                "score": float(score),
            }
            for corner, score, label in zip(given.corners, given.scores, labels, strict=True)
        ]
        return SampleScore(values={"boxes": float(len(given.scores))})

    def _ids(self, labels: Any, ids: Sequence[int]) -> Any:
        moved = labels + self._options.offset
        if self._options.classes == "ids":
            return moved
        if moved.size and (moved.min() < 0 or moved.max() >= len(ids)):
            why = f"there are {len(ids)} categories"
            raise UsageError(f"detection: label {int(moved.max())}", why=why)
        return np.array(ids)[moved] if moved.size else moved

    def result(self) -> TaskScores:
        """Return COCO's figures, in percent; ``None`` of what no object is of."""
        if not self._right or not self._given:
            empty = 0.0 if self._right else None
            values = {one.name: empty for one in METRICS}
            return TaskScores(values=values, notices=self._notices())
        coco, judge = _coco()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):  # it prints as it goes
            right = coco()
            right.dataset = {
                "info": {},
                "images": self._images,
                "annotations": [{**one, "id": at} for at, one in enumerate(self._right, start=1)],
                "categories": [
                    {"id": number, "name": name} for number, name in self._categories.items()
                ],
            }
            right.createIndex()
            judged = judge(right, right.loadRes(self._given), "bbox")
            judged.evaluate()
            judged.accumulate()
            judged.summarize()
        return TaskScores(
            values={
                name: None if (share := judged.stats[at]) < 0 else float(100 * share)
                for name, _, at in _PLACES
            },
            parts=tuple(self._classes(judged)),
            notices=self._notices(),
        )

    def _notices(self) -> tuple[Notice, ...]:
        if not self._odd:
            return ()
        text = f"{self._odd:,} boxes contain NaN or infinities; enginescope skips them"
        return (Notice("W-BOXES-NOT-FINITE", text),)

    def _classes(self, judged: Any) -> list[ScoredPart]:
        precision = judged.eval["precision"][:, :, :, 0, 2]
        made = []
        for at, number in enumerate(judged.params.catIds):
            held = precision[:, :, at]
            stated = held[held > -1]
            if stated.size:
                name = self._categories[number]
                made.append(ScoredPart(name=name, values={"AP %": float(100 * stated.mean())}))
        return made


def _known_entries(corners: Any, labels: Any, number: int) -> list[dict[str, Any]]:
    sizes = corners[:, 2:] - corners[:, :2]
    return [
        {
            "image_id": number,
            "category_id": int(label),
            "bbox": [float(x) for x in (*corner[:2], *size)],
            "area": float(size[0] * size[1]),
            "iscrowd": 0,
        }
        for corner, size, label in zip(corners, sizes, labels, strict=True)
    ]


def _target_entries(found: KnownBoxes, number: int) -> list[dict[str, Any]]:
    return [
        {
            "image_id": number,
            "category_id": box.category_id,
            "bbox": list(box.bbox),
            "area": box.bbox[2] * box.bbox[3] if box.area is None else box.area,
            "iscrowd": box.iscrowd,
        }
        for box in found.boxes
    ]
