"""Feeds for one sample: what files and pictures give, the rest random."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.job import InputFile, InputShape, Workload
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleFile
from enginescope.runner.inputs.images import image_input
from enginescope.runner.inputs.inputs import make_feeds

_NO_FILE_NAME = re.compile(r"[^\w.,-]")


def sample_feeds(
    specs: tuple[InputSpec, ...], sample: Sample, workload: Workload, how: Preprocessing
) -> Feeds:
    """Return values for every input, of one sample.

    Args:
        workload: What holds for all samples: files, shapes, ranges and the batch that a user fixed.

    Raises:
        UsageError: A name the model does not have, or values that do not fit.
    """
    pictures = {_named(image, specs, sample): Path(image.path) for image in sample.images}
    files = {file.name: file for file in workload.files}
    files |= {
        _named(file, specs, sample): InputFile(name=_named(file, specs, sample), path=file.path)
        for file in sample.files
    }
    shapes = {shape.name: shape for shape in workload.shapes}
    shapes |= {
        shape.input: InputShape(name=shape.input, dims=shape.dims) for shape in sample.shapes
    }
    own = msgspec.structs.replace(
        workload,
        seed=sample.seed,
        data_set=sample.data_set,
        files=tuple(files.values()),
        shapes=tuple(shapes.values()),
    )
    if not pictures:
        return make_feeds(specs, own)
    others = tuple(spec for spec in specs if spec.name not in pictures)
    unseen = tuple(shape for shape in own.shapes if shape.name not in pictures)
    fed = make_feeds(others, msgspec.structs.replace(own, shapes=unseen))
    arrays = {
        spec.name: image_input(pictures[spec.name], spec, how)
        for spec in specs
        if spec.name in pictures
    }
    drawn = {name: tuple(array.shape) for name, array in arrays.items()}
    return msgspec.structs.replace(
        fed, arrays={**fed.arrays, **arrays}, shapes={**fed.shapes, **drawn}
    )


def as_file(name: str) -> str:
    """Return a tensor's name as files can have it: ``images:0`` as ``images_0``."""
    return _NO_FILE_NAME.sub("_", name)


def _named(one: SampleFile, specs: tuple[InputSpec, ...], sample: Sample) -> str:
    """Return the input a file is for; without a name, the only one."""
    known = [spec.name for spec in specs]
    if one.input in known:
        return str(one.input)
    if one.input is not None:
        by_file = [name for name in known if as_file(name) == one.input]
        if len(by_file) == 1:
            return by_file[0]
        raise UsageError(
            f"the model has no input called {one.input!r}", hint=did_you_mean(one.input, known)
        )
    fixed = [spec.name for spec in specs if spec.default_values is None]
    if len(fixed) == 1:
        return fixed[0]
    wide = [spec.name for spec in specs if len(spec.shape) == 4]
    if one in sample.images and len(wide) == 1:
        return wide[0]
    raise UsageError(
        f"{Path(one.path).name} for one of {', '.join(known)}",
        why="it does not say for which input it is",
        hint="an npz with arrays of the inputs' names, or a folder a sample with NAME.npy",
    )
