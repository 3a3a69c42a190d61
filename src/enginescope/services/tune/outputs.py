"""Outputs of alternatives against those of the default, with the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

from enginescope.analysis.errors.output_tolerance import tolerance_named
from enginescope.analysis.upgrade.rows import why_side_fails
from enginescope.core.errors import BackendError
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest
from enginescope.runner.model_inputs import settled_workload
from enginescope.services.accuracy.output_files import choose_samples
from enginescope.services.accuracy.request import SIDE_LIMITS, ValidateRequest
from enginescope.services.accuracy.sides import Side, Sides, spanning_jobs
from enginescope.services.accuracy.validation_run import Plan, ValidationRun
from enginescope.services.tune.alternatives import Candidate, TuneRequest

_DEFAULT = "default"
_LATE = "outputs are not checked: the maximum time is over"


class CheckedOutputs(Record, frozen=True, kw_only=True):
    """What became of the outputs of alternatives that cannot win, by number.

    Attributes:
        wrong: Why outputs do not pass, or are missing.
        unchecked: Those for which no time was left.
    """

    wrong: Mapping[int, str] = {}
    unchecked: Mapping[int, str] = {}


def check_outputs(
    request: TuneRequest,
    candidates: Sequence[Candidate],
    progress: Callable[[str], None],
    deadline: float,
) -> CheckedOutputs:
    """Compare the outputs of candidates with the default's, batch by batch.

    Args:
        candidates: The default first.
        progress: Called before each process.
        deadline: On the performance counter; no process of an alternative starts after it.

    Raises:
        UsageError: A sample does not fit the model.
        UnsupportedError, BackendError: The default does not run.
    """
    wrong: dict[int, str] = {}
    collector = _Collector(progress, deadline)
    for batch in dict.fromkeys(candidate.batch for candidate in candidates):
        some = [candidate for candidate in candidates[1:] if candidate.batch == batch]
        wrong |= _of_batch(request, candidates[0], some, batch, collector)
    late = {candidate.number for candidate in candidates if _label(candidate) in collector.late}
    return CheckedOutputs(
        wrong={number: why for number, why in wrong.items() if number not in late},
        unchecked=dict.fromkeys(late, _LATE),
    )


def _label(candidate: Candidate) -> str:
    return f"alternative {candidate.number}"


def _of_batch(
    request: TuneRequest,
    default: Candidate,
    candidates: Sequence[Candidate],
    batch: int | None,
    collector: _Collector,
) -> dict[int, str]:
    workload = settled_workload([request.model], replace(request.workload, batch=batch))
    chosen = choose_samples(request.model, request.samples, workload)
    validation = ValidateRequest(
        models=(request.model,),
        on=tuple(str(candidate.job.backend) for candidate in (default, *candidates)),
        workload=replace(workload, shapes=chosen.shapes),
        limits=request.process_limits or SIDE_LIMITS,
        store=request.store,
        command=request.command,
    )
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
        run = ValidationRun(plan, collect=collector.collect, alike=lambda side: kinds[side.label])
        run.bindings()
        run.answers()
        validated = run.compared(lambda _number: None)
    return {
        candidate.number: f"outputs: {why_side_fails(side)}"
        for candidate, side in zip(candidates, validated.sides, strict=True)
        if not side.passes
    }


class _Collector:
    """Collects outputs of each side.

    Attributes:
        late: Labels of sides for which no time was left.
    """

    def __init__(self, progress: Callable[[str], None], deadline: float) -> None:
        self._progress, self._deadline = progress, deadline
        self.late: set[str] = set()

    def collect(self, side: Side, request: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        """Run a side in a fresh process, unless no time is left."""
        assert side.job is not None
        if side.label != _DEFAULT and perf_counter() > self._deadline:
            self.late.add(side.label)
            raise BackendError(_LATE)
        what = "outputs" if request.samples else "inputs and outputs"
        self._progress(f"{what} of {side.job.backend}")
        return run_here()
