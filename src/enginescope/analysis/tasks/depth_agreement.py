"""Maps of depth of two sides, each brought to 0…1.

What a map of relative depth means does not change with its scale and offset, and bringing both maps
to 0…1 leaves those out. It leaves them out of sight too: factor and offset between the maps are
therefore stated beside, and noticed where they are more than rounding.

Depth-estimation models side by side: how fast, how near, what they see.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.base import SampleScore, TaskMetric, TaskScores
from enginescope.analysis.tasks.box_outputs import first_maps
from enginescope.analysis.tasks.segmentation import bilinear
from enginescope.analysis.tasks.task_scoring import TaskReport, TaskSide
from enginescope.core.record import Result
from enginescope.judge.notice import Notice
from enginescope.records.run.run import TensorValues

AGREEMENT: tuple[TaskMetric, ...] = (
    TaskMetric(name="mae", title="MAE", better="lower"),
    TaskMetric(name="rmse", title="RMSE", better="lower"),
    TaskMetric(name="max_error", title="max", better="lower"),
)
#: Ranges within this factor count as equal: FP16 rounds the ends of a map by less.
_SAME_RANGE = 1.003


class DepthAgreement:
    """The figures of one side against another; a `Scorer`."""

    def __init__(self, output: str | None) -> None:
        self._output = output
        self._mae = self._rmse = self._most = 0.0
        self._absolute = self._squares = 0.0
        self._maps = self._pixels = self._flat = self._not_finite = self._resized = 0
        self._ratios: list[float] = []

    def add(self, answers: Sequence[TensorValues], target: Any) -> SampleScore:
        """Add a sample's maps; `target` is the other side's answers."""
        ours, theirs = (first_maps(one, self._output, "depth") for one in (answers, target))
        if len(ours) != len(theirs):
            return SampleScore(left_out=f"{len(ours)} maps, {len(theirs)} in the reference")
        if ours.shape != theirs.shape:
            self._resized += 1
            ours = bilinear(ours, theirs.shape[-2:])
        found = [self._pair(a, b) for a, b in zip(ours, theirs, strict=True)]
        stated = [one for one in found if one is not None]
        if len(stated) < len(found) or not stated:
            return SampleScore(values={one.name: None for one in AGREEMENT})
        means = [math.fsum(column) / len(stated) for column in zip(*stated, strict=True)]
        most = max(one[2] for one in stated)
        return SampleScore(values={"mae": means[0], "rmse": means[1], "max_error": most})

    def _pair(self, ours: Any, theirs: Any) -> tuple[float, float, float] | None:
        if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
            self._not_finite += 1
            return None
        spans = [float(np.ptp(one)) for one in (ours, theirs)]
        self._flat += 0.0 in spans
        if all(spans):
            self._ratios.append(spans[0] / spans[1])
        error = np.abs(unit_map(ours) - unit_map(theirs))
        squares = float((error * error).sum())
        mae, rmse = float(error.mean()), math.sqrt(squares / error.size)
        self._mae += mae
        self._rmse += rmse
        self._most = max(self._most, float(error.max()))
        self._absolute += float(error.sum())
        self._squares += squares
        self._maps += 1
        self._pixels += error.size
        return mae, rmse, float(error.max())

    def result(self) -> TaskScores:
        """Return means over maps, and the same over pixels."""
        if self._not_finite or not self._maps:
            values: dict[str, float | None] = {one.name: None for one in AGREEMENT}
            return TaskScores(values=values, notices=tuple(self._notices()))
        ratio = float(np.median(self._ratios)) if self._ratios else None
        return TaskScores(
            values={
                "mae": self._mae / self._maps,
                "rmse": self._rmse / self._maps,
                "max_error": self._most,
            },
            more={
                "mae_over_pixels": self._absolute / self._pixels,
                "rmse_over_pixels": math.sqrt(self._squares / self._pixels),
                "range_ratio_median": ratio,
            },
            notices=tuple(self._notices()),
        )

    def _notices(self) -> Iterator[Notice]:
        if self._not_finite:
            text = f"{self._not_finite:,} maps hold NaN or infinities, so metrics are not defined"
            yield Notice("W-DEPTH-NOT-FINITE", text)
        if self._flat:
            text = f"{self._flat:,} maps are of one value alone, which becomes 0"
            yield Notice("W-DEPTH-FLAT", text)
        if self._resized:
            text = f"{self._resized:,} maps were resized to the size of the reference's maps"
            yield Notice("I-DEPTH-RESIZED", text)
        ratio = float(np.median(self._ratios)) if self._ratios else 1.0
        if not 1 / _SAME_RANGE <= ratio <= _SAME_RANGE:
            text = (
                f"the range of the maps is {ratio:.4g} × the reference's (median); "
                "figures of maps scaled to 0…1 hide this factor"
            )
            yield Notice("W-DEPTH-RANGE", text, {"range_ratio": ratio})


def unit_map(values: Any) -> Any:
    """Return a map from 0 at its least to 1 at its greatest value; zeros of one value alone."""
    low, span = float(values.min()), float(np.ptp(values))
    return (values - low) / span if span else np.zeros_like(values)


@dataclass(frozen=True, slots=True, eq=False)
class DepthSide:
    """One model on one backend.

    Attributes:
        view: Of the timed run.
        depth: Its map of the picture, height × width.
    """

    label: str
    view: RunView
    depth: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DepthBenchmark(Result):
    """Latency, agreement and accuracy of depth-estimation models.

    Attributes:
        image: Bytes of red, green and blue, height × width × 3.
        sides: The first is the one the others are compared with.
        agreement: Of the maps of the picture, brought to 0…1; ``None`` with one side.
        quality: Against depth that is known; ``None`` where none was given.
        target: Ground truth of the picture.
        files: Written figures and data.
        is_stored: Whether every run and file could be stored.
    """

    image_name: str
    image: Any
    sides: tuple[DepthSide, ...]
    agreement: TaskReport | None = None
    quality: TaskReport | None = None
    target: Any | None = None
    files: tuple[Path, ...] = ()
    is_stored: bool = True

    def scored(self, report: TaskReport | None, label: str) -> TaskSide | None:
        """Return a side's figures in a report."""
        sides = report.sides if report else ()
        return next((side for side in sides if side.label == label), None)
