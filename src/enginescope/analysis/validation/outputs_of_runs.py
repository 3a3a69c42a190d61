"""The outputs that runs kept, each against the first run's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope.analysis.accuracy.error_limits import forbids_tf32
from enginescope.analysis.accuracy.output_comparison import SideComparison
from enginescope.analysis.errors.output_tolerance import TOLERANCES, tolerance_named, widest
from enginescope.analysis.validation.validation import ValidatedSide, Validation
from enginescope.judge.notice import Notice
from enginescope.records.run.job import Workload
from enginescope.records.run.run import Run

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
        sides=tuple(_side(reference, other) for other in others),
        notices=tuple(_notices(reference, others)),
    )


def _side(reference: Run, run: Run) -> ValidatedSide:
    name, why = _tolerance(reference, run)
    differing = _other_inputs(reference, run)
    comparison = SideComparison(run_label(run), lambda _: tolerance_named(name))
    if differing is None:
        comparison.add(0, _SAMPLE, reference.answers, run.answers)
    return ValidatedSide(
        label=run_label(run),
        tolerance=name,
        tolerance_why=why,
        diff=comparison.result() if differing is None else None,
        failure=None if differing is None else f"not compared: {differing}",
    )


def run_label(run: Run) -> str:
    """Return what a run's side is called."""
    return f"{run.job.subject.name} · {run.job.backend} · run {run.id[:6]}"


def _tolerance(reference: Run, run: Run) -> tuple[str, str]:
    """Return the row for the coarser of both precisions."""
    found = [_precision(one) for one in (run, reference)]
    name = widest(each for each, _ in found)
    return name, next(why for each, why in found if each == name)


def _precision(run: Run) -> tuple[str, str]:
    backend = run.job.backend
    allowed = (backend.precision or "").lower()
    if allowed == "best":
        return "int8", f"{backend} may compute in any precision"
    if allowed in TOLERANCES:
        # an engine of FP32 may use TF32
        has_tf32 = allowed == "fp32" and not forbids_tf32(backend)
        name = "tf32" if has_tf32 else allowed
        return name, f"{backend} may compute in {name}"
    return "fp16", f"the precision of {run.job.subject.name} is not known"


def _other_inputs(reference: Run, run: Run) -> str | None:
    """Return in what the inputs of two runs differ, as far as the runs say."""
    first, second = (_shapes(one) for one in (reference, run))
    unlike = [name for name in first.keys() & second.keys() if first[name] != second[name]]
    if unlike:
        return f"another shape of {', '.join(sorted(unlike))}"
    if "imported" in (reference.origin, run.origin):
        return None
    for what, one, other in _choices(reference.job.workload, run.job.workload):
        if one != other:
            return f"other {what}"
    return None


def _shapes(run: Run) -> dict[str, tuple[int | None, ...]]:
    return {
        one.name: one.shape for one in run.inputs if one.shape is not None and None not in one.shape
    }


def _choices(a: Workload, b: Workload) -> Iterator[tuple[str, object, object]]:
    yield "seed of random inputs", a.seed, b.seed
    yield "files of inputs", a.files, b.files
    yield "ranges of inputs", a.ranges, b.ranges
    yield "data set", a.data_set, b.data_set


def _notices(reference: Run, others: Sequence[Run]) -> Iterator[Notice]:
    if any(one.origin == "imported" for one in (reference, *others)):
        yield Notice(
            code="W-INPUTS-NOT-KNOWN",
            message="imported runs do not record their inputs; trtexec's random inputs are "
            "the same in every run, unless --loadInputs gave others",
            evidence={"runs": [one.id for one in (reference, *others) if one.origin == "imported"]},
        )
