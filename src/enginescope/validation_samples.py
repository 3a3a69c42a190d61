"""The samples of a comparison: those of the data, those beside the model, or random ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.core.record import Record
from enginescope.model.job import InputShape
from enginescope.model.sample_set import Sample
from enginescope.runner.picture_samples import picture_samples
from enginescope.runner.sample_sources import data_sets_beside, random_samples, samples_in

RANDOM_SAMPLES = 8


class SampleRequest(Record, frozen=True, kw_only=True):
    """What the samples are to be.

    Attributes
    ----------
    data : tuple of str
        Files and folders. Empty: the data sets beside the model, else random ones.
    images : tuple of str
        In place of data: pictures, and folders with pictures in them and below.
    is_random : bool
        Random ones, whatever lies beside the model.
    count : int or None
        So many random ones, or the first of the data.
    seed : int
    shapes : tuple of InputShape
        An input that is named again makes a further set of random samples.
    has_files : bool
        Whether files hold values of inputs for every sample.
    image_input : str or None
        The input that pictures are for.
    """

    data: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    is_random: bool = False
    count: int | None = None
    seed: int = 0
    shapes: tuple[InputShape, ...] = ()
    has_files: bool = False
    image_input: str | None = None


class SampleChoice(Record, frozen=True, kw_only=True):
    """The samples, the shapes that all have in common, and the files that are no samples."""

    samples: tuple[Sample, ...]
    shapes: tuple[InputShape, ...] = ()
    skipped: tuple[str, ...] = ()


def choose_samples(model: Path, request: SampleRequest) -> SampleChoice:
    """Return the samples that `model` and the other sides are to answer.

    Raises
    ------
    UsageError
        The request contradicts itself, or there is nothing where data are said to be.
    FormatError
        A file cannot be read.
    """
    if request.is_random and request.data:
        raise UsageError("--random and --data", why="each alone says what the samples are")
    shapes = request.shapes
    if request.images:
        return _pictures(request)
    paths: Sequence[Path] = [Path(one) for one in request.data]
    if not (paths or request.is_random or shapes or request.has_files):
        paths = data_sets_beside(model)
    if not paths:
        count = request.count or RANDOM_SAMPLES
        samples, common = random_samples(count, request.seed, shapes)
        return SampleChoice(samples=samples, shapes=common)
    if len({one.name for one in shapes}) < len(shapes):
        raise UsageError("an input with several shapes", why="the data have shapes of their own")
    found = samples_in(paths, image_input=request.image_input)
    return SampleChoice(
        samples=found.samples[: request.count], shapes=shapes, skipped=found.skipped
    )


def _pictures(request: SampleRequest) -> SampleChoice:
    if request.data or request.is_random:
        other = "--data" if request.data else "--random"
        raise UsageError(f"--images and {other}", why="each alone says what the samples are")
    paths = [Path(one) for one in request.images]
    found, skipped = picture_samples(paths, image_input=request.image_input)
    return SampleChoice(samples=found[: request.count], shapes=request.shapes, skipped=skipped)
