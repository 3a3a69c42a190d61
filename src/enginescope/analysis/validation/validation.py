"""A validation: the reference, the sides, and the result of each side.

A comparison of answers, read back from its ``output_diff.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from enginescope.analysis.accuracy.binding_check import BindingDifference, OutputPair
from enginescope.analysis.accuracy.output_diff import (
    Channels,
    Figures,
    OutputDiff,
    OutputReason,
    SampleDiff,
    SideDiff,
)
from enginescope.analysis.accuracy.topk_agreement import RankAgreement
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.bisection.precision_proposals import PrecisionTrials
from enginescope.analysis.errors.output_tolerance import Tolerance
from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.core.result import Result
from enginescope.judge.notice import Notice
from enginescope.records.run.sample_set import SkippedSample
from enginescope.records.tensor import DataType

#: Codes of notices: files that could not be written, and work that a full disk ended.
NOT_STORED, DISK_FULL = "W-NOT-STORED", "W-DISK-FULL"


class ValidatedSide(Record, frozen=True, kw_only=True):
    """One side.

    Attributes:
        tolerance, tolerance_why: The row of tolerances for its outputs, and why that one.
        diff: ``None``: it was not compared.
        failure: Why its outputs could not be had.
        hint: What to do about the failure.
        suggested_pairs: Missing and extra outputs that may be the same output under two names.
        inside: Where its error starts; ``None``: not looked for.
        precision: Result of keeping parts of it in FP32; ``None``: not tried.
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
        task: What the outputs are worth for a task.
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


class _Output(Record, frozen=True, kw_only=True):
    name: str
    dtype: DataType | None = None
    reference_dtype: DataType | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    samples: int = 0
    tolerance: Tolerance
    reasons: tuple[OutputReason, ...] = ()
    notices: tuple[Notice, ...] = ()
    error_histogram: tuple[int, ...] = ()
    zero_errors: int = 0
    ulp_histogram: tuple[int, ...] = ()
    channels: Channels | None = None
    ranked_items: int | None = None
    top1_agreement_pct: float | None = None
    top5_agreement_pct: float | None = None
    samples_nearer_to_another_reference: int | None = None
    error_to_spread_limit: float | None = None


class _Side(Record, frozen=True, kw_only=True):
    side: str
    tolerance: str
    tolerance_why: str
    failure: str | None = None
    binding_differences: tuple[BindingDifference, ...] = ()


class _File(Record, frozen=True, kw_only=True):
    reference: str
    reference_note: str | None = None
    num_samples: int
    samples: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    created: str | None = None
    command: str | None = None
    notices: tuple[Notice, ...] = ()


def stored_validation(value: Mapping[str, Any], source: str) -> Validation:
    """Return the comparison in a file's values; its figures of single samples are not in it."""
    try:
        head = msgspec.convert(value, _File)
        sides = tuple(_side(one) for one in value["sides"])
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise FormatError(source, why=f"not a readable comparison of outputs ({error})") from None
    outputs = [output.name for side in sides if side.diff for output in side.diff.outputs]
    return Validation(
        reference=head.reference,
        reference_note=head.reference_note,
        samples=head.samples or tuple(f"sample {at}" for at in range(head.num_samples)),
        inputs=head.inputs,
        outputs=tuple(dict.fromkeys(outputs)),
        sides=sides,
        notices=head.notices,
        command=head.command,
        created=head.created,
    )


def _side(value: Mapping[str, Any]) -> ValidatedSide:
    head = msgspec.convert(value, _Side)
    worst = value.get("worst")
    outputs = tuple(_output(one) for one in value.get("outputs", ()))
    diff = SideDiff(
        label=head.side, outputs=outputs, samples=(), worst=_sample(worst) if worst else None
    )
    return ValidatedSide(
        label=head.side,
        tolerance=head.tolerance,
        tolerance_why=head.tolerance_why,
        bindings=head.binding_differences,
        diff=diff if outputs else None,
        failure=head.failure,
    )


def _output(value: Mapping[str, Any]) -> OutputDiff:
    one = msgspec.convert(value, _Output)
    return OutputDiff(
        name=one.name,
        reference_dtype=one.reference_dtype,
        dtype=one.dtype,
        shapes=one.shapes,
        samples=one.samples,
        tolerance=one.tolerance,
        reasons=one.reasons,
        notices=one.notices,
        figures=_figures(value),
        errors=one.error_histogram,
        zero_errors=one.zero_errors,
        ulps=one.ulp_histogram,
        channels=one.channels,
        ranks=_ranks(one),
        astray=one.samples_nearer_to_another_reference,
        error_limit=one.error_to_spread_limit,
    )


def _sample(value: Mapping[str, Any]) -> SampleDiff:
    shape = value.get("shape")
    return SampleDiff(
        sample=value["sample"],
        name=value["name"],
        output=value["output"],
        shape=tuple(shape) if shape is not None else None,
        figures=_figures(value),
        reason=value.get("breaks"),
    )


def _figures(value: Mapping[str, Any]) -> Figures | None:
    return msgspec.convert(value, Figures) if "elements" in value else None


def _ranks(one: _Output) -> RankAgreement | None:
    if not one.ranked_items or one.top1_agreement_pct is None or one.top5_agreement_pct is None:
        return None
    return RankAgreement(
        rows=one.ranked_items,
        top1=round(one.top1_agreement_pct * one.ranked_items / 100),
        top5=round(one.top5_agreement_pct * one.ranked_items / 100),
    )
