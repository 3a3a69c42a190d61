"""A validation: the reference, the sides, the result of each; also of outputs that runs kept.

A comparison of answers, read back from its ``output_diff.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from enginescope.analysis.accuracy import output_diff
from enginescope.analysis.accuracy.binding_check import BindingDifference, OutputPair
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.accuracy.sample_checks import RankAgreement
from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.bisection.precision_proposals import PrecisionTrials
from enginescope.analysis.errors.output_tolerance import (
    TOLERANCES,
    Tolerance,
    tolerance_named,
    widest,
)
from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.core.errors import FormatError
from enginescope.core.record import Record, Result, copied
from enginescope.judge.notice import Notice
from enginescope.records.run.run import Run
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
    diff: output_diff.SideDiff | None = None
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
    reasons: tuple[output_diff.OutputReason, ...] = ()
    notices: tuple[Notice, ...] = ()
    error_histogram: tuple[int, ...] = ()
    zero_errors: int = 0
    ulp_histogram: tuple[int, ...] = ()
    channels: output_diff.Channels | None = None
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
    return copied(
        Validation,
        head,
        samples=head.samples or tuple(f"sample {at}" for at in range(head.num_samples)),
        outputs=tuple(dict.fromkeys(outputs)),
        sides=sides,
    )


def _side(value: Mapping[str, Any]) -> ValidatedSide:
    head = msgspec.convert(value, _Side)
    worst, sample = value.get("worst"), None
    if worst:
        shape = worst.get("shape")
        sample = output_diff.SampleDiff(
            sample=worst["sample"],
            name=worst["name"],
            output=worst["output"],
            shape=tuple(shape) if shape is not None else None,
            figures=_figures(worst),
            reason=worst.get("breaks"),
        )
    outputs = tuple(_output(one) for one in value.get("outputs", ()))
    diff = output_diff.SideDiff(label=head.side, outputs=outputs, samples=(), worst=sample)
    return copied(
        ValidatedSide,
        head,
        label=head.side,
        bindings=head.binding_differences,
        diff=diff if outputs else None,
    )


def _output(value: Mapping[str, Any]) -> output_diff.OutputDiff:
    one = msgspec.convert(value, _Output)
    return copied(
        output_diff.OutputDiff,
        one,
        figures=_figures(value),
        errors=one.error_histogram,
        ulps=one.ulp_histogram,
        ranks=_ranks(one),
        astray=one.samples_nearer_to_another_reference,
        error_limit=one.error_to_spread_limit,
    )


def _figures(value: Mapping[str, Any]) -> output_diff.Figures | None:
    return msgspec.convert(value, output_diff.Figures) if "elements" in value else None


def _ranks(one: _Output) -> RankAgreement | None:
    if not one.ranked_items or one.top1_agreement_pct is None or one.top5_agreement_pct is None:
        return None
    return RankAgreement(
        rows=one.ranked_items,
        top1=round(one.top1_agreement_pct * one.ranked_items / 100),
        top5=round(one.top5_agreement_pct * one.ranked_items / 100),
    )


_SAMPLE = "the inputs of the runs"


def answers_of_runs(runs: Sequence[Run]) -> Validation | None:
    """Return how the outputs of runs differ from those of the first that kept any.

    ``None`` where fewer than two runs kept their outputs. A run whose inputs were others than the
    first one's is a side that failed.
    """
    kept = [run for run in runs if run.answers]
    if len(kept) < 2:
        return None
    reference, *others = kept
    return Validation(
        reference=run_label(reference),
        reference_note=f"the first run with outputs, {reference.id[:6]}; its own errors are not "
        "known",
        samples=(_SAMPLE,),
        inputs=tuple(one.name for one in reference.inputs),
        outputs=tuple(answer.name for answer in reference.answers),
        sides=tuple(_run_side(reference, other) for other in others),
        notices=tuple(_notices(reference, others)),
    )


def _run_side(reference: Run, run: Run) -> ValidatedSide:
    found = [_precision(one) for one in (run, reference)]
    name = widest(each for each, _ in found)  # the row for the coarser of both precisions
    differing = _other_inputs(reference, run)
    comparison = SideComparison(run_label(run), lambda _: tolerance_named(name))
    if differing is None:
        comparison.add(0, _SAMPLE, reference.answers, run.answers)
    return ValidatedSide(
        label=run_label(run),
        tolerance=name,
        tolerance_why=next(why for each, why in found if each == name),
        diff=comparison.result() if differing is None else None,
        failure=None if differing is None else f"not compared: {differing}",
    )


def run_label(run: Run) -> str:
    """Return what a run's side is called."""
    return f"{run.job.subject.name} · {run.job.backend} · run {run.id[:6]}"


def _precision(run: Run) -> tuple[str, str]:
    backend = run.job.backend
    allowed = (backend.precision or "").lower()
    if allowed == "best":
        return "int8", f"{backend} may compute in any precision"
    if allowed in TOLERANCES:
        # an engine of FP32 may use TF32
        has_tf32 = allowed == "fp32" and not backend.forbids_tf32
        name = "tf32" if has_tf32 else allowed
        return name, f"{backend} may compute in {name}"
    return "fp16", f"the precision of {run.job.subject.name} is not known"


def _other_inputs(reference: Run, run: Run) -> str | None:
    first, second = (
        {
            one.name: one.shape
            for one in side.inputs
            if one.shape is not None and None not in one.shape
        }
        for side in (reference, run)
    )
    unlike = [name for name in first.keys() & second.keys() if first[name] != second[name]]
    if unlike:
        return f"another shape of {', '.join(sorted(unlike))}"
    if "imported" in (reference.origin, run.origin):
        return None
    choices = {
        "seed of random inputs": "seed",
        "files of inputs": "files",
        "ranges of inputs": "ranges",
        "data set": "data_set",
    }
    a, b = reference.job.workload, run.job.workload
    other = (what for what, choice in choices.items() if getattr(a, choice) != getattr(b, choice))
    return next((f"other {what}" for what in other), None)


def _notices(reference: Run, others: Sequence[Run]) -> Iterator[Notice]:
    imported = [one.id for one in (reference, *others) if one.origin == "imported"]
    if imported:
        yield Notice(
            "W-INPUTS-NOT-KNOWN",
            "imported runs do not record their inputs; trtexec's random inputs are "
            "the same in every run, unless --loadInputs gave others",
            {"runs": imported},
        )
