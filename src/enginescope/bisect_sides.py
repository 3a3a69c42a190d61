"""``validate --bisect``: where inside the model each side's error starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from enginescope.analysis.error_growth import Bisected
from enginescope.analysis.output_diff import SampleDiff, SideDiff
from enginescope.analysis.output_tolerance import tolerance_named
from enginescope.analysis.precision_trials import PrecisionTrials
from enginescope.analysis.tensor_errors import LARGEST
from enginescope.analysis.validation import ValidatedSide, Validation
from enginescope.backends.registry import parse_backend
from enginescope.bisect_run import FEW_MARKS, BisectPlan, BisectRun
from enginescope.core.errors import BackendError, UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.sample_set import Sample
from enginescope.model.tensor import DataType
from enginescope.validation_run import Plan, Watch
from enginescope.validation_sides import REFERENCE, Side, tolerance_name

#: Samples that are looked into: those farthest from their reference.
_MOST_SAMPLES = 4
#: And the first so many, where proposals are tried.
_MOST_TRIED = 12
_HALF = {"fp16": DataType.FP16, "fp8": DataType.FP8}


def with_insides(
    found: Validation,
    plan: Plan,
    watch: Watch,
    *,
    marks: int | None = None,
    suggests_precision: bool = False,
) -> Validation:
    """Return a comparison in which each side that fails says where its error starts.

    A single side is looked into even if it passes.

    Parameters
    ----------
    marks : int, optional
        Tensors marked at once.
    suggests_precision : bool
        Whether to try what could be kept in FP32, too.

    Raises
    ------
    UsageError
        There is no model to look into, or nothing computes the reference.
    """
    by_label = {one.label: one for one in plan.sides.others}
    looking = _Looking(plan, watch, marks=marks, suggests_precision=suggests_precision)
    alone = len(found.sides) == 1
    sides = [
        looking.into(one, by_label[one.label])
        if one.diff is not None and (alone or not one.passes)
        else one
        for one in found.sides
    ]
    notices = (*found.notices, *looking.notices)
    return msgspec.structs.replace(found, sides=tuple(sides), notices=notices)


class _Looking:
    """Looks into one side after another; one that cannot be looked into keeps what it has."""

    def __init__(
        self, plan: Plan, watch: Watch, *, marks: int | None, suggests_precision: bool
    ) -> None:
        self._plan, self._watch = plan, watch
        self._marks, self._suggests = marks, suggests_precision
        self.notices: list[Notice] = []

    def into(self, one: ValidatedSide, side: Side) -> ValidatedSide:
        try:
            with temporary_folder() as folder:
                return self._looked(one, bisect_plan(one, side, self._plan, folder))
        except BackendError as error:
            message = f"{one.label} could not be looked into: {error}"
            self.notices.append(Notice(code="W-NOT-LOOKED-INTO", message=message))
            return one

    def _looked(self, one: ValidatedSide, asked: BisectPlan) -> ValidatedSide:
        asked = msgspec.structs.replace(asked, most=self._marks or asked.most)
        doing = BisectRun(asked, self._watch)
        inside, precision = doing.find(), None
        if self._suggests:
            inside, precision = _suggested(inside, asked, doing, self._plan.samples)
        return msgspec.structs.replace(one, inside=inside, precision=precision)


def _suggested(
    inside: Bisected, asked: BisectPlan, doing: BisectRun, samples: tuple[Sample, ...]
) -> tuple[Bisected, PrecisionTrials]:
    from enginescope.bisect_own import with_own_errors
    from enginescope.precision_run import PrecisionRun

    if asked.job.backend.name.startswith("ort"):  # an engine would have to be built of the pieces
        inside = with_own_errors(inside, asked, doing)
    chosen = dict.fromkeys((*asked.samples, *samples[:_MOST_TRIED]))
    return inside, PrecisionRun(asked, doing, tuple(chosen)).tried(inside)


def check_bisectable(plan: Plan) -> None:
    """Raise, before anything runs, where a side cannot be looked into.

    Raises
    ------
    UsageError
        A side or the reference is an engine, or nothing computes the reference.
    """
    for one in plan.sides.others:
        reference = computing_reference(one, plan.sides.reference)
        if reference is None:
            raise UsageError(
                f"--bisect: {one.label}",
                why=f"{plan.sides.reference.label} do not say what is right inside the model",
                hint="--reference MODEL, one that is known to be right",
            )
        for job in (one.job, reference):
            if job is None or job.subject.kind != "onnx":
                raise UsageError(
                    f"--bisect: {job.subject.name if job else one.label}",
                    why="an engine does not give the tensors inside it",
                    hint="the ONNX model it was built from, with --on trt:fp16",
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
        raise UsageError(f"--bisect: {side.label}", why="nothing there computes answers")
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
    for one in diff.samples:
        worst[one.sample] = max(worst.get(one.sample, (False, False, 0.0)), badness(one))
    order = sorted(worst, key=lambda at: worst[at], reverse=True)[:_MOST_SAMPLES]
    failing = [at for at in order if worst[at][0]]
    return tuple(samples[at] for at in sorted(failing or order))
