"""Outputs of alternatives against those of the default, with the same inputs."""

from collections.abc import Callable, Sequence
from time import perf_counter

from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.upgrade.rows import why_side_fails
from enginescope.core.errors import BackendError
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.sides import Side, Sides, spanning_jobs
from enginescope.services.accuracy.validation_run import Collect, Plan, ValidationRun
from enginescope.services.tune.alternatives import Candidate, TuneRequest

_DEFAULT = "default"
_LATE = "outputs are not checked: the maximum time is over"


def check_outputs(
    request: TuneRequest,
    candidates: Sequence[Candidate],
    progress: Callable[[str], None],
    deadline: float,
) -> tuple[dict[int, str], dict[int, str]]:
    """Compare the outputs of candidates with those of the first, the default, batch by batch.

    No process of an alternative starts after the deadline (on the performance counter). Return why
    outputs do not pass, or are missing, by number; and those for which no time was left.
    """
    wrong: dict[int, str] = {}
    late: set[str] = set()

    def collect(side: Side, asked: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        assert side.job is not None
        if side.label != _DEFAULT and perf_counter() > deadline:
            late.add(side.label)
            raise BackendError(_LATE)
        progress(f"{'outputs' if asked.samples else 'inputs and outputs'} of {side.job.backend}")
        return run_here()

    for batch in dict.fromkeys(candidate.batch for candidate in candidates):
        some = [candidate for candidate in candidates[1:] if candidate.batch == batch]
        wrong |= _of_batch(request, candidates[0], some, batch, collect)
    unchecked = {one.number: _LATE for one in candidates if _label(one) in late}
    return {number: why for number, why in wrong.items() if number not in unchecked}, unchecked


def _label(candidate: Candidate) -> str:
    return f"alternative {candidate.number}"


def _of_batch(
    request: TuneRequest,
    default: Candidate,
    candidates: Sequence[Candidate],
    batch: int | None,
    collect: Collect,
) -> dict[int, str]:
    workload = settled_workload([request.path], replace(request.workload, batch=batch))
    chosen = choose_samples(request.path, request.sample_request, workload)
    on = tuple(str(candidate.job.backend) for candidate in (default, *candidates))
    validation = request.validation(on=on, workload=replace(workload, shapes=chosen.shapes))
    jobs = spanning_jobs(validation, chosen.samples)
    reference = Side(label=_DEFAULT, job=jobs[0])
    sides = [
        Side(label=_label(candidate), job=job)
        for candidate, job in zip(candidates, jobs[1:], strict=True)
    ]
    with temporary_folder() as folder:
        plan = Plan(
            sides=Sides(reference=reference, others=tuple(sides)),
            samples=chosen.samples,
            folder=str(folder),
            tolerance=tolerance_named(request.tolerance).name if request.tolerance else None,
        )
        backends = {side.label: side.job.backend for side in (reference, *sides) if side.job}
        kinds = {label: (one.name, one.precision) for label, one in backends.items()}
        run = ValidationRun(plan, collect=collect, alike=lambda side: kinds[side.label])
        run.bindings()
        run.answers()
        validated = run.compared(lambda _number: None)
    return {
        candidate.number: f"outputs: {why_side_fails(side)}"
        for candidate, side in zip(candidates, validated.sides, strict=True)
        if not side.passes
    }
