"""In the worker: many samples through one session, each answer on disk before the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from enginescope.backends.base import (
    Answering,
    AnsweringSession,
    Feeds,
    InputSpec,
    Measured,
    Progress,
    ProgressSink,
)
from enginescope.backends.range_hint import with_range_hint
from enginescope.core.errors import BackendError, EnginescopeError, UsageError
from enginescope.formats.answer_files import answer_file, write_answers
from enginescope.model.job import Job
from enginescope.model.notice import Notice
from enginescope.model.run import Phase
from enginescope.model.sample_set import AnswerRequest
from enginescope.model.tensor import DataType
from enginescope.model.tensor_values import TensorValues
from enginescope.runner.sample_feeds import sample_feeds

#: Between two reports of progress.
_REPORT_S = 0.1


def answer_samples(backend: Answering, job: Job, report: ProgressSink) -> Measured:
    """Answer the samples of `job` and return the model's bindings; nothing is timed.

    Raises
    ------
    UsageError
        A sample does not fit the model.
    BackendError
        The model rejects a sample; names it.
    """
    if job.answering is None:
        raise UsageError("no samples to answer")
    report(Progress(phase="load"))
    begin = perf_counter()
    session = backend.open_for_answers(job)
    loaded = Phase(name="load", duration_ms=1e3 * (perf_counter() - begin))
    notices: dict[tuple[str, str], Notice] = {}
    try:
        inputs, outputs = session.bindings()
        last = 0.0
        for number, sample in enumerate(job.answering.samples):
            if perf_counter() - last > _REPORT_S:
                last = perf_counter()
                share = number / len(job.answering.samples)
                report(Progress(phase="answers", samples=number, fraction=share))
            try:
                fed = sample_feeds(
                    session.input_specs, sample, job.workload, job.answering.preprocessing
                )
                answers = _answered(session, fed)
                _keep(answers, fed, session.input_specs, job.answering, number)
            except EnginescopeError as error:
                error.what = f"sample {number} ({sample.name}): {error.what}"
                raise
            for one in fed.notices:
                notices.setdefault((one.code, one.message), one)
        said = session.notices()
    finally:
        session.close()
    return Measured(
        phases=(loaded,),
        inputs=inputs,
        outputs=outputs,
        providers=session.providers,
        notices=(*notices.values(), *said),
    )


def _answered(session: AnsweringSession, fed: Feeds) -> tuple[TensorValues, ...]:
    """Return the answers; where random integers may be the cause of none, say how to bound them."""
    try:
        return session.answer(fed)
    except BackendError as error:
        raise with_range_hint(error, fed.random_integers) from error


def _keep(
    answers: tuple[TensorValues, ...],
    fed: Feeds,
    specs: tuple[InputSpec, ...],
    request: AnswerRequest,
    number: int,
) -> None:
    _write(Path(request.folder), number, answers)
    if request.inputs_folder is None:
        return
    types = {one.name: one.dtype or DataType.UINT8 for one in specs}
    tensors = [
        TensorValues(
            name=name, dtype=types[name], shape=fed.shapes.get(name, array.shape), data=array
        )
        for name, array in fed.arrays.items()
    ]
    _write(Path(request.inputs_folder), number, tensors)


def _write(folder: Path, number: int, tensors: Sequence[TensorValues]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_answers(answer_file(folder, number), tensors)
    except OSError as error:
        raise BackendError(
            f"values could not be written to {folder}",
            why=error.strerror or str(error),
            hint="TMPDIR or --output on another disk, or fewer --samples",
        ) from error
