"""In the worker: many samples through one session, each answer on disk before the next."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from enginescope.backends.base import Answering, Feeds, InputSpec, Measured, ProgressSink
from enginescope.backends.loop import clocked
from enginescope.backends.profile_bounds import hinting_at_inputs
from enginescope.backends.varying_shapes import Changing, measure_changes
from enginescope.core.errors import (
    BackendError,
    EnginescopeError,
    FormatError,
    UsageError,
    os_errors_as,
)
from enginescope.core.record import replace
from enginescope.formats.tensors.tensor_files import answer_file, write_answers, write_skipped
from enginescope.judge.notice import Notice
from enginescope.records.progress import Progress
from enginescope.records.run.job import Job, ShapeRule
from enginescope.records.run.run import Phase, TensorValues
from enginescope.records.run.sample_set import AnswerRequest, Sample, SkippedSample
from enginescope.records.tensor import DataType
from enginescope.runner.inputs.inputs import make_feeds
from enginescope.runner.inputs.sample_feeds import sample_feeds

#: Between two reports of progress.
_REPORT_S = 0.1


def answer_samples(backend: Answering, job: Job, report: ProgressSink) -> Measured:
    """Answer the samples of `job` and return the model's bindings; nothing is timed.

    A sample whose files cannot be read is skipped and listed beside the answers, where the request
    allows that and another sample can be read.
    """
    request = job.answering
    if request is None:
        raise UsageError("no samples to run")
    report(Progress(phase="load"))
    session, load_ms = clocked(lambda: backend.open_for_answers(job))
    loaded = Phase(name="load", duration_ms=load_ms)
    notices: dict[tuple[str, str], Notice] = {}
    skipped: list[SkippedSample] = []
    try:
        inputs, outputs = session.bindings()
        last = 0.0
        for number, sample in enumerate(request.samples):
            if perf_counter() - last > _REPORT_S:
                last = perf_counter()
                share = number / len(request.samples)
                report(Progress(phase="answers", samples=number, fraction=share))
            with _naming(number, sample):
                try:
                    fed = sample_feeds(
                        session.input_specs, sample, job.workload, request.preprocessing
                    )
                except FormatError as error:
                    skipped.append(_skipped(error, number, request, len(skipped)))
                    continue
                with hinting_at_inputs(fed.random_integers, fed.notices):
                    answers = session.answer(fed)
                _keep(answers, fed, session.input_specs, request, number)
            for notice in fed.notices:
                notices.setdefault((notice.code, notice.message), notice)
        said = session.notices()
        with _to_disk(Path(request.folder)) as folder:
            write_skipped(folder, skipped)
    finally:
        session.close()
    return Measured(
        phases=(loaded,),
        inputs=inputs,
        outputs=outputs,
        providers=session.providers,
        notices=(*notices.values(), *said),
    )


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
    types = {spec.name: spec.dtype or DataType.UINT8 for spec in specs}
    shapes = {name: array.shape for name, array in fed.arrays.items()} | dict(fed.shapes)
    tensors = [
        TensorValues(name=name, dtype=types[name], shape=shapes[name], data=array)
        for name, array in fed.arrays.items()
    ]
    _write(Path(request.inputs_folder), number, tensors)


def _skipped(error: FormatError, number: int, request: AnswerRequest, before: int) -> SkippedSample:
    """Return the sample as skipped; raise the error where skipping is not allowed or leaves none.

    Args:
        before: Samples that were skipped before this one.
    """
    count = len(request.samples)
    if not request.skips_unreadable:
        raise error
    if before + 1 == count:
        raise error if count == 1 else error.with_hint(f"none of the {count:,} samples can be read")
    return SkippedSample(sample=number, name=request.samples[number].name, why=str(error))


@contextmanager
def _naming(number: int, sample: Sample) -> Iterator[None]:
    try:
        yield
    except EnginescopeError as error:
        error.what = f"sample {number} ({sample.name}): {error.what}"
        raise


def _write(folder: Path, number: int, tensors: Sequence[TensorValues]) -> None:
    with _to_disk(folder):
        write_answers(answer_file(folder, number), tensors)


@contextmanager
def _to_disk(folder: Path) -> Iterator[Path]:
    """Yield the folder, made; raise a `BackendError` where a write into it fails."""
    with os_errors_as(
        BackendError,
        f"values could not be written to {folder}",
        hint="TMPDIR or --output on another disk, or fewer --samples",
    ):
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def change_shapes(backend: Changing, job: Job, rule: ShapeRule, report: ProgressSink) -> Measured:
    """Load the model, make the inputs of every shape, and change between the shapes."""
    report(Progress(phase="load"))
    session, load_ms = clocked(lambda: backend.open_for_changes(job))
    loaded = Phase(name="load", duration_ms=load_ms)
    try:
        fed = [make_feeds(session.input_specs, point.workload) for point in rule.points]
        measured = measure_changes(rule, session, fed, report)
        notices = {notice: None for feeds in fed[:1] for notice in feeds.notices}
    finally:
        session.close()
    return replace(measured, phases=(loaded,), notices=(*notices, *measured.notices))
