"""Bisection of the sides that fail: where inside the model an error starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.analysis.accuracy.output_diff import SampleDiff, SideDiff
from enginescope.analysis.bisection.tensor_errors import LARGEST
from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.validation.validation import DISK_FULL, ValidatedSide, Validation
from enginescope.backends.registry import parse_backend
from enginescope.core.errors import BackendError, DiskFullError, UsageError, disk_full_as_error
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.notice import Notice
from enginescope.records.run.job import Job
from enginescope.records.run.sample_set import Sample
from enginescope.records.tensor import DataType
from enginescope.services.accuracy.request import BisectionRequest
from enginescope.services.accuracy.sides import REFERENCE, Side, tolerance_name
from enginescope.services.accuracy.validation_run import Plan, Watch
from enginescope.services.bisection.extract import check_folder, extracted
from enginescope.services.bisection.fp32_fallback import FallbackTrials
from enginescope.services.bisection.node_errors import add_node_errors
from enginescope.services.bisection.search import FEW_MARKS, BisectPlan, BisectRun

#: Samples that are looked into: those farthest from their reference.
_MOST_SAMPLES = 4
#: And the first so many, where proposals are tried.
_MOST_TRIED = 12
_HALF = {"fp16": DataType.FP16, "fp8": DataType.FP8}


def add_bisection(
    found: Validation, plan: Plan, watch: Watch, request: BisectionRequest
) -> Validation:
    """Return a comparison in which each side that fails has the start of its error.

    A single side is searched even if it passes. Of several sides, each gets a folder of its own in
    ``request.extract``.

    Raises:
        UsageError: A side has no model to search, or nothing computes the reference.
    """
    by_label = {side.label: side for side in plan.sides.others}
    bisecting = _Bisecting(found, plan, watch, request)
    sides = [
        bisecting.searched(side, by_label[side.label])
        if side.diff is not None and (bisecting.is_alone or not side.passes)
        else side
        for side in found.sides
    ]
    notices = (*found.notices, *bisecting.notices)
    return msgspec.structs.replace(found, sides=tuple(sides), notices=notices)


class _Bisecting:
    """Searches one side after another; a side that cannot be searched stays as it is."""

    def __init__(
        self, found: Validation, plan: Plan, watch: Watch, request: BisectionRequest
    ) -> None:
        self._plan, self._watch, self._request = plan, watch, request
        skipped = {sample.sample for sample in found.skipped}
        self._samples = tuple(
            sample for number, sample in enumerate(plan.samples) if number not in skipped
        )
        self.is_alone = len(found.sides) == 1
        self.notices: list[Notice] = []

    def searched(self, result: ValidatedSide, side: Side) -> ValidatedSide:
        what = f"temporary files of the search in {result.label}"
        try:
            with disk_full_as_error(what), temporary_folder() as folder:
                return self._searched(result, bisect_plan(result, side, self._plan, folder))
        except DiskFullError as error:
            message = f"{result.label} was compared but not searched: {error}; {error.hint}"
            self.notices.append(Notice(code=DISK_FULL, message=message))
        except BackendError as error:
            message = f"{result.label} could not be searched: {error}"
            self.notices.append(Notice(code="W-NOT-LOOKED-INTO", message=message))
        return result

    def _searched(self, result: ValidatedSide, plan: BisectPlan) -> ValidatedSide:
        request = self._request
        plan = msgspec.structs.replace(plan, most=request.marks or plan.most)
        run = BisectRun(plan, self._watch)
        inside, precision = run.find(), None
        if _is_cheap(plan.job):  # an engine would have to be built of the pieces
            inside = add_node_errors(inside, plan, run)
        if request.extract is not None:
            notice = extracted(inside, plan, run, self._folder_of(result, request.extract))
            inside = msgspec.structs.replace(inside, notices=(*inside.notices, notice))
        if request.suggest_precision:
            samples = dict.fromkeys((*plan.samples, *self._samples[:_MOST_TRIED]))
            precision = FallbackTrials(plan, run, tuple(samples)).tried(inside)
        return msgspec.structs.replace(result, inside=inside, precision=precision)

    def _folder_of(self, result: ValidatedSide, extract: Path) -> Path:
        labels = [side.label for side in self._plan.sides.others]
        return extract if self.is_alone else extract / f"side-{labels.index(result.label) + 1}"


def check_bisectable(plan: Plan, extract: Path | None) -> None:
    """Raise, before anything runs, where a side cannot be searched.

    Raises:
        UsageError: A side or the reference is an engine, nothing computes the reference, or the
            folder of `extract` is not empty.
    """
    if extract is not None:
        check_folder(extract)
    for other in plan.sides.others:
        reference = computing_reference(other, plan.sides.reference)
        if reference is None:
            raise UsageError(
                f"`bisect`: {other.label}",
                why=f"{plan.sides.reference.label} have no reference for intermediate tensors",
                hint="`reference` MODEL, a model that is known to be correct",
            )
        for job in (other.job, reference):
            if job is None or job.subject.kind != "onnx":
                raise UsageError(
                    f"`bisect`: {job.subject.name if job else other.label}",
                    why="an engine does not return intermediate tensors",
                    hint="the ONNX model it was built from, with `on` trt:fp16",
                )


def computing_reference(side: Side, reference: Side) -> Job | None:
    """Return who computes what a side should: the reference, or the side's model on the CPU.

    The latter where the reference is only stored, and the side is not that itself.
    """
    if reference.job is not None or side.job is None:
        return reference.job
    if side.job.backend.name == "ort-cpu" and side.job.backend.precision is None:
        return None
    return msgspec.structs.replace(side.job, backend=parse_backend(REFERENCE), engine=None)


def bisect_plan(one: ValidatedSide, side: Side, plan: Plan, folder: Path) -> BisectPlan:
    """Return what is to be searched in a side."""
    reference = computing_reference(side, plan.sides.reference)
    if side.job is None or reference is None or one.diff is None:
        raise UsageError(f"`bisect`: {side.label}", why="nothing there computes outputs")
    held = tolerance_name(side, plan.sides.reference)[0]
    row = tolerance_named(plan.tolerance or held)
    return BisectPlan(
        label=one.label,
        reference_label=f"{reference.subject.name} · {reference.backend.name}",
        job=side.job,
        reference=reference,
        samples=_worst_samples(one.diff, plan.samples),
        preprocessing=plan.preprocessing,
        tolerance=row,
        asked=plan.asked,
        output_names=plan.output_names,
        fails=not one.passes,
        folder=str(folder.resolve()),
        most=None if _is_cheap(side.job) and _is_cheap(reference) else FEW_MARKS,
        largest=LARGEST.get(_HALF.get(held, DataType.FP32)),
    )


def _is_cheap(job: Job) -> bool:
    """Whether a marked copy need only be loaded, not built."""
    return job.backend.name in ("ort-cpu", "ort-cuda")


def _worst_samples(diff: SideDiff, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the samples farthest from their reference, in their own order."""

    def badness(one: SampleDiff) -> tuple[bool, bool, float]:
        figures = one.figures
        if figures is None:
            return (True, True, 0.0)
        odd = figures.nan + figures.infinite + figures.finite_only_here
        return (one.reason is not None, odd > 0, figures.error_to_spread or 0.0)

    worst: dict[int, tuple[bool, bool, float]] = {}
    for sample in diff.samples:
        worst[sample.sample] = max(worst.get(sample.sample, (False, False, 0.0)), badness(sample))
    order = sorted(worst, key=lambda at: worst[at], reverse=True)[:_MOST_SAMPLES]
    failing = [at for at in order if worst[at][0]]
    return tuple(samples[at] for at in sorted(failing or order))
