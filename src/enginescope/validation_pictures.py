"""Samples that are pictures, for inputs that leave their height and width open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from enginescope.formats.onnx_graph import onnx_input_shapes
from enginescope.model.sample_set import Preprocessing, Sample, SampleShape
from enginescope.runner.picture_shape import picture_shape


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
    return tuple(_shaped(one, shapes, how) for one in samples)


def _shaped(
    sample: Sample, shapes: Mapping[str, Sequence[int | None]], how: Preprocessing
) -> Sample:
    if not sample.images or how.size is None:
        return sample
    asked = {one.input for one in sample.images}
    named = [name for name in shapes if name in asked or (None in asked and len(shapes) == 1)]
    own = {one.input for one in sample.shapes}
    made = tuple(
        SampleShape(input=name, dims=picture_shape(shapes[name], how.size, how.layout))
        for name in named
        if name not in own
    )
    return replace(sample, shapes=(*sample.shapes, *made))
