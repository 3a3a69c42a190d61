"""Outputs that are boxes, by named layouts.

Outputs that are maps: of depth, of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from enginescope.analysis.errors.channel_errors import flat_numbers, kind_of
from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.run import TensorValues


def single_maps(values: TensorValues) -> Any | None:
    """Return an output as maps in float64, items × height × width; ``None`` where it is none.

    Height × width, items × height × width, and either with an axis of 1 for channels.
    """
    shape = values.shape
    if kind_of(values.dtype) not in ("float", "int"):
        return None
    if len(shape) == 4 and 1 in (shape[1], shape[3]):
        shape = (shape[0], shape[2], shape[3]) if shape[1] == 1 else shape[:3]
    if len(shape) == 2:
        shape = (1, *shape)
    if len(shape) != 3 or min(shape[1:]) < 2:  # fewer rows or columns are not a map
        return None
    return flat_numbers(values).astype(np.float64).reshape(shape)


def first_maps(answers: Sequence[TensorValues], output: str | None, task: str) -> Any:
    """Return the maps of the first output that is one, items × height × width."""
    for one in named_output(answers, output, task):
        maps = single_maps(one)
        if maps is not None:
            return maps
    hint = "height × width, one channel"
    raise UsageError(f"{task}: no output is a map", why=shapes_text(answers), hint=hint)


def shapes_text(answers: Sequence[TensorValues]) -> str:
    return ", ".join(f"{answer.name} {'×'.join(map(str, answer.shape))}" for answer in answers)


def named_output(
    answers: Sequence[TensorValues], name: str | None, task: str
) -> Sequence[TensorValues]:
    """Return all answers, or the one called `name`."""
    if name is None:
        return answers
    found = [answer for answer in answers if answer.name == name]
    if not found:
        hint = did_you_mean(name, dict.fromkeys(answer.name for answer in answers))
        raise UsageError(f"{task}: no output is called {name!r}", hint=hint)
    return found


class BoxLayout(Record, frozen=True, kw_only=True):
    """Where boxes, scores and labels are, and what their numbers mean.

    Attributes:
        boxes, scores, labels: Names of three outputs: n × 4, n, n.
        output: In place of them one output, n × 6: a box, its score, its label.
        form: Two corners; left, top, width, height; center, width, height.
        unit: ``picture``: pixels of the picture; ``relative``: 0…1 of what the model saw; or
            ``HEIGHTxWIDTH``: pixels of an input of that size.
        fit: How the picture was brought to the input; with ``pad`` it lies in the middle.
    """

    boxes: str = "boxes"
    scores: str = "scores"
    labels: str = "labels"
    output: str | None = None
    form: Literal["xyxy", "xywh", "cxcywh"] = "xyxy"
    unit: str = "picture"
    fit: Literal["stretch", "pad"] = "stretch"


class Boxes(Record, frozen=True, kw_only=True, eq=False):
    """Boxes of one picture.

    Attributes:
        corners: Left, top, right, bottom.
        labels: Whole numbers.
        odd: Boxes left out because a number of theirs is not finite.
    """

    corners: Any
    scores: Any
    labels: Any
    odd: int = 0

    def in_picture(self, width: int, height: int, layout: BoxLayout) -> Boxes:
        """Return the boxes in pixels of a picture of that size."""
        if layout.unit == "picture":
            return self
        high, wide = _input_size(layout)
        if layout.fit == "pad":
            scale = min(wide / width, high / height)
            left, top = (wide - width * scale) / 2, (high - height * scale) / 2
            across, down = 1 / scale, 1 / scale
        else:
            left = top = 0.0
            across, down = width / wide, height / high
        moved = (self.corners - np.array((left, top) * 2)) * np.array((across, down) * 2)
        limits = np.array((width, height) * 2)
        return Boxes(corners=np.clip(moved, 0, limits), scores=self.scores, labels=self.labels)


def _input_size(layout: BoxLayout) -> tuple[float, float]:
    if layout.unit == "relative":
        if layout.fit == "pad":
            raise UsageError(
                "detection: unit=relative with fit=pad",
                why="how wide the margins are depends on the input",
                hint="unit=640x640",
            )
        return 1.0, 1.0
    height, cross, width = layout.unit.lower().partition("x")
    if not (cross and height.isdecimal() and width.isdecimal() and int(height) and int(width)):
        raise UsageError(
            f"detection: unit={layout.unit}", hint="picture, relative, or HEIGHTxWIDTH: 640x640"
        )
    return float(height), float(width)


def boxes_of(answers: Sequence[TensorValues], layout: BoxLayout) -> Boxes:
    """Return the boxes among a sample's outputs; those of score 0 or less are not boxes."""
    if layout.output is not None:
        rows = _numbers(answers, layout.output)
        if rows.size % 6:
            raise UsageError(f"detection: {layout.output} holds {rows.size} numbers, not n × 6")
        rows = rows.reshape(-1, 6)
        corners, scores, labels = rows[:, :4], rows[:, 4], rows[:, 5]
    else:
        flat = _numbers(answers, layout.boxes)
        scores, labels = _numbers(answers, layout.scores), _numbers(answers, layout.labels)
        if flat.size != 4 * scores.size or labels.size != scores.size:
            raise UsageError(
                "detection: outputs do not belong together",
                why=f"{flat.size} numbers of boxes, {scores.size} scores, {labels.size} labels",
                hint="?boxes=NAME&scores=NAME&labels=NAME name them",
            )
        corners = flat.reshape(-1, 4)
    finite = np.isfinite(corners).all(axis=1) & np.isfinite(scores) & np.isfinite(labels)
    real = finite & (np.where(finite, scores, 0) > 0)
    return Boxes(
        corners=_corners(corners[real], layout.form),
        scores=scores[real],
        labels=np.rint(labels[real]).astype(np.int64),
        odd=int(np.count_nonzero(~finite)),
    )


def _numbers(answers: Sequence[TensorValues], name: str) -> Any:
    (found,) = named_output(answers, name, "detection")
    return flat_numbers(found).astype(np.float64)


def _corners(values: Any, form: str) -> Any:
    first, second = values[:, :2], values[:, 2:]
    if form == "xywh":
        return np.concatenate([first, first + second], axis=1)
    if form == "cxcywh":
        return np.concatenate([first - second / 2, first + second / 2], axis=1)
    return values
