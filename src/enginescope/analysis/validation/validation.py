"""A validation: the reference, the sides, and the result of each side."""

from __future__ import annotations

from enginescope.analysis.accuracy.binding_check import BindingDifference
from enginescope.analysis.accuracy.output_diff import SideDiff
from enginescope.analysis.accuracy.renamed_outputs import OutputPair
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.bisection.precision_trials import PrecisionTrials
from enginescope.analysis.tasks.task_report import TaskReport
from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.records.notice import Notice
from enginescope.records.run.sample_set import SkippedSample

#: Codes of notices: files that could not be written, and work that a full disk ended.
NOT_STORED, DISK_FULL = "W-NOT-STORED", "W-DISK-FULL"


class ValidatedSide(Record, frozen=True, kw_only=True):
    """One side.

    Attributes:
        tolerance, tolerance_why: The row of tolerances its outputs are held to, and why that one.
        diff: ``None``: it was not compared.
        failure: Why its answers could not be had.
        hint: What to do about the failure.
        suggested_pairs: Missing and extra outputs that may be the same output under two names.
        inside: Where its error starts; ``None``: not looked for.
        precision: What came of keeping parts of it in FP32; ``None``: not tried.
    """

    label: str
    tolerance: str
    tolerance_why: str
    bindings: tuple[BindingDifference, ...] = ()
    diff: SideDiff | None = None
    failure: str | None = None
    hint: str | None = None
    suggested_pairs: tuple[OutputPair, ...] = ()
    inside: Bisected | None = None
    precision: PrecisionTrials | None = None

    @property
    def blocked(self) -> tuple[BindingDifference, ...]:
        """Differences because of which the same inputs cannot be put to both."""
        return tuple(binding for binding in self.bindings if binding.blocks)

    @property
    def passes(self) -> bool:
        """Whether it was compared and every output is within its limits."""
        return self.diff is not None and self.diff.passes


class Validation(Result, Record, frozen=True, kw_only=True):
    """Outputs of each side compared with the reference.

    Attributes:
        reference: What it is.
        reference_note: What is to be known of it.
        samples: Their names, in order.
        inputs, outputs: Of the reference.
        task: What the answers are worth for a task.
        skipped: Samples whose files cannot be read; no side answered them.
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
    skipped: tuple[SkippedSample, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for could be done and stored."""
        return not any(notice.code in (NOT_STORED, DISK_FULL) for notice in self.notices)

    @property
    def passes(self) -> bool:
        """Whether every side does, and the task's limits are kept."""
        if self.task is not None and not self.task.passes:
            return False
        known = bool(self.sides) or self.task is not None
        return known and all(side.passes for side in self.sides)
