"""Models of depth side by side: how fast, how near, what they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from enginescope.analysis.run_view import RunView
from enginescope.analysis.task_report import TaskReport, TaskSide


@dataclass(frozen=True, slots=True, eq=False)
class DepthSide:
    """One model on one backend.

    Attributes
    ----------
    label : str
    view : RunView
        Of the timed run.
    depth : numpy.ndarray
        Its map of the picture, height × width.
    """

    label: str
    view: RunView
    depth: Any


@dataclass(frozen=True, slots=True, eq=False)
class DepthBenchmark:
    """What the comparison came to.

    Attributes
    ----------
    image_name : str
    image : numpy.ndarray
        Bytes of red, green and blue, height × width × 3.
    sides : tuple of DepthSide
        The first is the one the others are held against.
    agreement : TaskReport or None
        Of the maps of the picture, brought to 0…1; ``None`` with one side.
    quality : TaskReport or None
        Against depth that is known; ``None`` where none was given.
    target : numpy.ndarray or None
        Known depth of the picture.
    """

    image_name: str
    image: Any
    sides: tuple[DepthSide, ...]
    agreement: TaskReport | None = None
    quality: TaskReport | None = None
    target: Any | None = None

    def scored(self, report: TaskReport | None, label: str) -> TaskSide | None:
        """Return a side's figures in a report."""
        sides = report.sides if report else ()
        return next((one for one in sides if one.label == label), None)
