"""A whole comparison of answers: the reference, the sides, what came of each."""

from __future__ import annotations

from enginescope.analysis.binding_check import BindingDifference
from enginescope.analysis.error_growth import Bisected
from enginescope.analysis.output_diff import SideDiff
from enginescope.analysis.precision_trials import PrecisionTrials
from enginescope.analysis.task_report import TaskReport
from enginescope.core.record import Record
from enginescope.model.notice import Notice


class ValidatedSide(Record, frozen=True, kw_only=True):
    """One side.

    Attributes
    ----------
    label : str
    tolerance, tolerance_why : str
        The row of tolerances its outputs are held to, and why that one.
    bindings : tuple of BindingDifference
    diff : SideDiff or None
        ``None``: it was not compared.
    failure : str or None
        Why its answers could not be had.
    inside : Bisected or None
        Where its error starts; ``None``: not looked for.
    precision : PrecisionTrials or None
        What came of keeping parts of it in FP32; ``None``: not tried.
    """

    label: str
    tolerance: str
    tolerance_why: str
    bindings: tuple[BindingDifference, ...] = ()
    diff: SideDiff | None = None
    failure: str | None = None
    inside: Bisected | None = None
    precision: PrecisionTrials | None = None

    @property
    def blocked(self) -> tuple[BindingDifference, ...]:
        """Differences because of which the same inputs cannot be put to both."""
        return tuple(one for one in self.bindings if one.blocks)

    @property
    def passes(self) -> bool:
        """Whether it was compared and every output is within its limits."""
        return self.diff is not None and self.diff.passes


class Validation(Record, frozen=True, kw_only=True):
    """What a comparison of answers comes to.

    Attributes
    ----------
    reference : str
        What it is.
    reference_note : str or None
        What is to be known of it.
    samples : tuple of str
        Their names, in order.
    inputs, outputs : tuple of str
        Of the reference.
    task : TaskReport or None
        What the answers are worth for a task.
    """

    reference: str
    reference_note: str | None
    samples: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sides: tuple[ValidatedSide, ...]
    notices: tuple[Notice, ...] = ()
    command: str | None = None
    created: str | None = None
    task: TaskReport | None = None

    @property
    def passes(self) -> bool:
        """Whether every side does, and the task's limits are kept."""
        if self.task is not None and not self.task.passes:
            return False
        known = bool(self.sides) or self.task is not None
        return known and all(one.passes for one in self.sides)
