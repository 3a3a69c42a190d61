"""The samples of a comparison: those of the data, those beside the model, or random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.formats.onnx.onnx_graph import onnx_input_shapes
from enginescope.records.run.job import InputShape, Workload
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleShape
from enginescope.runner.inputs.picture_samples import picture_samples
from enginescope.runner.inputs.picture_shape import picture_shape
from enginescope.runner.inputs.sample_sources import data_sets_beside, random_samples, samples_in
from enginescope.services.accuracy.request import SampleRequest

RANDOM_SAMPLES = 8


class SampleChoice(Record, frozen=True, kw_only=True):
    """Samples, the shapes that all have in common, and files that are not samples."""

    samples: tuple[Sample, ...]
    shapes: tuple[InputShape, ...] = ()
    skipped: tuple[str, ...] = ()


def choose_samples(model: Path, request: SampleRequest, workload: Workload) -> SampleChoice:
    """Return the samples that `model` and the other sides get.

    An input that the workload names again makes a further set of random samples.

    Raises:
        UsageError: The request contradicts the workload, or there is nothing where data are said to
            be.
        FormatError: A file cannot be read.
    """
    shapes = workload.shapes
    if request.images:
        samples, skipped = picture_samples(request.images, image_input=request.image_input)
        return SampleChoice(samples=samples[: request.count], shapes=shapes, skipped=skipped)
    paths: Sequence[Path] = request.data
    if not (paths or request.random or shapes or workload.files):
        paths = data_sets_beside(model)
    if not paths:
        count = request.count or RANDOM_SAMPLES
        samples, common = random_samples(count, workload.seed, shapes)
        return SampleChoice(samples=samples, shapes=common)
    if len({shape.name for shape in shapes}) < len(shapes):
        raise UsageError("an input with several shapes", why="the data have shapes of their own")
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
