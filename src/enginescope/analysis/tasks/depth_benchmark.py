"""Models of depth side by side: how fast, how near, what they see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginescope.analysis.runs.run_view import RunView
from enginescope.analysis.tasks.task_report import TaskReport, TaskSide
from enginescope.core.result import Result


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
        sides: The first is the one the others are held against.
        agreement: Of the maps of the picture, brought to 0…1; ``None`` with one side.
        quality: Against depth that is known; ``None`` where none was given.
        target: Known depth of the picture.
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
