"""The samples of a comparison of outputs, and the files that it writes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from enginescope.analysis.accuracy.output_diff import farthest_by_output
from enginescope.analysis.validation.validation import NOT_STORED, ValidatedSide, Validation
from enginescope.core.errors import UsageError, os_errors_as
from enginescope.core.record import Record, replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.formats.onnx.onnx_graph import onnx_input_shapes
from enginescope.judge.notice import Notice
from enginescope.records.run.job import InputShape, Workload
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleShape
from enginescope.runner.inputs.images import picture_samples, picture_shape
from enginescope.runner.inputs.sample_feeds import data_sets_beside, random_samples, samples_in
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.declared import File, path_of
from enginescope.services.output_files import write_each

if TYPE_CHECKING:
    from enginescope.render.accuracy.compared_outputs import WorstAnswer
    from enginescope.services.accuracy.validation_run import ValidationRun

#: Outputs, beside the one farthest from its reference, that are looked at for maps.
_MOST_OUTPUTS = 6


def output_folder(
    output: Path, models: Sequence[Path], data: Sequence[Path], reference: File | None
) -> Path:
    """Return the folder for files; nothing goes beside what is read."""
    read = [model.resolve().parent for model in models]
    read += [one.resolve() if one.is_dir() else one.resolve().parent for one in data]
    named = path_of(reference)
    if named is not None and named.exists():
        read.append(named.resolve() if named.is_dir() else named.resolve().parent)
    if output.resolve() in read:
        raise UsageError(f"output {output}", why="it contains models or data", hint="a new folder")
    if output.exists() and not output.is_dir():
        raise UsageError(f"output {output}", why="it is a file", hint="a new folder")
    return output.resolve()


@contextmanager
def work_folder(output: Path | None, *, keeps_samples: bool) -> Iterator[Path]:
    """Yield where the outputs go: ``samples/`` of the output, else a folder that goes again.

    What was written for a comparison that does not come to its end goes too.
    """
    if output is None or not keeps_samples:
        if output is not None:
            _made(output)
        with temporary_folder() as folder:
            yield folder
        return
    was_there = output.exists()
    samples = output / "samples"
    if samples.is_dir() and any(samples.iterdir()):
        raise UsageError(f"output {output}", why="it has samples already", hint="another folder")
    _made(samples)
    try:
        yield samples
    except BaseException:
        shutil.rmtree(samples if was_there else output, ignore_errors=True)
        raise


def _made(folder: Path) -> None:
    with os_errors_as(UsageError, f"output {folder}"):
        folder.mkdir(parents=True, exist_ok=True)


def write_files(found: Validation, doing: ValidationRun, output: Path) -> Validation:
    """Write ``output_diff.json``, ``per_sample_diff.json`` and ``validate.html``.

    Return `found` with a notice of files that could not be written: the comparison itself stands.
    """
    from enginescope.render.html.answer_page import written_json, written_page
    from enginescope.render.validation.validate_answer import per_sample_json, validate_answer

    worst = [one for side in found.sides for one in _worst_of(side, doing)]
    answered = validate_answer(found, worst)
    files = {
        "output_diff.json": written_json(answered),
        "per_sample_diff.json": per_sample_json(found),
        "validate.html": written_page(answered),
    }
    lost, message = write_each(output, files)
    if message is None:
        return found
    evidence = {"files": lost, "folder": str(output)}
    notice = Notice(code=NOT_STORED, message=message, evidence=evidence)
    return replace(found, notices=(*found.notices, notice))


def _worst_of(side: ValidatedSide, doing: ValidationRun) -> Iterator[WorstAnswer]:
    """Yield the values farthest from the reference, then those of other outputs that are maps."""
    from enginescope.render.accuracy.compared_outputs import WorstAnswer, panels_of

    if side.diff is None:
        return
    first = side.diff.worst
    others = [one for one in farthest_by_output(side.diff.samples) if one is not first]
    for one in ([first] if first else []) + others[:_MOST_OUTPUTS]:
        if one.figures is None:
            continue
        reference, candidate = doing.values_of(side.label, one.sample, one.output)
        values = WorstAnswer(
            side=side.label,
            sample=one.sample,
            name=one.name,
            reference=reference,
            candidate=candidate,
        )
        if one is first or panels_of(values) is not None:
            yield values


class SampleChoice(Record, frozen=True, kw_only=True):
    """Samples, the shapes that all have in common, and files that are not samples."""

    samples: tuple[Sample, ...]
    shapes: tuple[InputShape, ...] = ()
    skipped: tuple[str, ...] = ()


def choose_samples(model: Path, request: SampleRequest, workload: Workload) -> SampleChoice:
    """Return the samples that `model` and the other sides get.

    An input that the workload names again makes a further set of random samples.
    """
    shapes = workload.shapes
    if request.images:
        samples, skipped = picture_samples(request.images, image_input=request.image_input)
        return SampleChoice(samples=samples[: request.count], shapes=shapes, skipped=skipped)
    paths: Sequence[Path] = request.data
    if not (paths or request.random or shapes or workload.files):
        paths = data_sets_beside(model)
    if not paths:
        samples, common = random_samples(request.count or 8, workload.seed, shapes)
        return SampleChoice(samples=samples, shapes=common)
    if len({shape.name for shape in shapes}) < len(shapes):
        raise UsageError("an input with several shapes", why="the data set has its own shapes")
    found = samples_in(paths, image_input=request.image_input)
    return SampleChoice(
        samples=found.samples[: request.count], shapes=shapes, skipped=found.skipped
    )


def with_picture_shapes(
    samples: Sequence[Sample], models: Sequence[Path], how: Preprocessing
) -> tuple[Sample, ...]:
    """Return samples whose pictures have a shape, so that engines are built for it.

    Only where a size was said, and the first ONNX model leaves that of its one input of pictures
    open: then nothing else tells a builder.
    """
    model = next((one for one in models if one.suffix.lower() == ".onnx"), None)
    if how.size is None or model is None or not model.is_file():
        return tuple(samples)
    shapes = {
        name: shape
        for name, shape in onnx_input_shapes(model).items()
        if len(shape) == 4 and None in shape
    }
    return tuple(_shaped(sample, shapes, how) for sample in samples)


def _shaped(
    sample: Sample, shapes: Mapping[str, Sequence[int | None]], how: Preprocessing
) -> Sample:
    if not sample.images or how.size is None:
        return sample
    asked = {image.input for image in sample.images}
    named = [name for name in shapes if name in asked or (None in asked and len(shapes) == 1)]
    own = {shape.input for shape in sample.shapes}
    made = tuple(
        SampleShape(input=name, dims=picture_shape(shapes[name], how.size, how.layout))
        for name in named
        if name not in own
    )
    return replace(sample, shapes=(*sample.shapes, *made))
