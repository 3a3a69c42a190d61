"""Feeds for one sample: what files and pictures give, the rest random; names that no model has."""

import re
from collections.abc import Collection, Iterable, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.backends.base import Feeds, InputSpec
from enginescope.core.errors import FormatError, MissingDependencyError, UsageError
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_graph import onnx_input_names
from enginescope.records.run.job import InputFile, InputShape, Job, Subject, Workload
from enginescope.records.run.sample_set import Preprocessing, Sample, SampleFile, SampleShape
from enginescope.runner.inputs.images import IMAGE_SUFFIXES, image_input
from enginescope.runner.inputs.inputs import make_feeds, names_in

_TENSOR_SUFFIXES = frozenset({".npy", ".npz", ".pb", ".raw", ".bin", ".dat"})
#: Member of our own files that is not an input.
_OURS = "enginescope.tensors"


class FoundSamples(Record, frozen=True, kw_only=True):
    """Samples, and what in their folders is none."""

    samples: tuple[Sample, ...]
    skipped: tuple[str, ...] = ()


def samples_in(paths: Sequence[Path], *, image_input: str | None = None) -> FoundSamples:
    """Return the samples in files and folders, in the order of the numbers in their names.

    A folder is a data set (``input_*.pb``), holds data sets, holds one file a sample (npy, npz,
    raw, pb, pictures), or one folder a sample with ``INPUT.npy``, ``INPUT.npz`` or ``INPUT.raw``.
    """
    samples: list[Sample] = []
    skipped: list[str] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"data {path}", why="no such file or folder")
        before = len(samples)
        if path.is_dir():
            _from_folder(path.resolve(), image_input, samples, skipped)
        else:
            samples += _from_file(path.resolve(), image_input)
        if len(samples) == before:
            hint = "npy, npz, raw, pb, images, folders with input_*.pb"
            raise UsageError(f"data {path}", why="nothing in it is a sample", hint=hint)
    return FoundSamples(samples=tuple(samples), skipped=tuple(skipped))


def data_sets_beside(model: Path) -> tuple[Path, ...]:
    """Return the ``test_data_set_*`` folders beside a model."""
    found = model.resolve().parent.glob("test_data_set_*")
    return tuple(sorted((one for one in found if _is_data_set(one)), key=_order))


def random_samples(
    count: int, seed: int, shapes: Sequence[InputShape]
) -> tuple[tuple[Sample, ...], tuple[InputShape, ...]]:
    """Return random samples, `count` for each set of shapes, and the shapes all have in common.

    An input's shape that is given several times makes several sets: the first of every such input
    is the first set, and so on.
    """
    by_name: dict[str, list[InputShape]] = {}
    for shape in shapes:
        by_name.setdefault(shape.name, []).append(shape)
    several = {name: found for name, found in by_name.items() if len(found) > 1}
    common = tuple(found[0] for found in by_name.values() if len(found) == 1)
    lengths = {len(found) for found in several.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{name} has {len(found)}" for name, found in several.items())
        raise UsageError("shapes of several inputs", why=f"{counts}; the sets do not pair up")
    made = []
    for at in range(lengths.pop() if lengths else 1):
        own = tuple(SampleShape(input=one[at].name, dims=one[at].dims) for one in several.values())
        dims = ", ".join(f"{one.input} {'×'.join(map(str, one.dims))}" for one in own)
        for number in range(count):
            name = f"random {seed + number}" + (f", {dims}" if dims else "")
            made.append(Sample(name=name, seed=seed + number, shapes=own))
    return tuple(made), common


def _from_folder(
    folder: Path, image_input: str | None, samples: list[Sample], skipped: list[str]
) -> None:
    if _is_data_set(folder):
        samples.append(Sample(name=folder.name, data_set=str(folder)))
        return
    for one in sorted(folder.iterdir(), key=_order):
        if one.name.startswith("."):
            continue
        if one.is_dir() and _is_data_set(one):
            samples.append(Sample(name=one.name, data_set=str(one)))
        elif one.is_dir():
            files = _named_files(one)
            if files:
                samples.append(Sample(name=one.name, files=files))
            else:
                skipped.append(one.name)
        else:
            found = _from_file(one, image_input)
            samples += found
            skipped += [] if found else [one.name]


def _named_files(folder: Path) -> tuple[SampleFile, ...]:
    return tuple(
        SampleFile(input=file.stem, path=str(file))
        for file in sorted((one for one in folder.iterdir() if one.is_file()), key=_order)
        if file.suffix.lower() in _TENSOR_SUFFIXES
    )


def _from_file(path: Path, image_input: str | None) -> list[Sample]:
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return [Sample(name=path.name, images=(SampleFile(input=image_input, path=str(path)),))]
    if suffix == ".npz":
        files = tuple(SampleFile(input=name, path=str(path)) for name in _members(path))
        return [Sample(name=path.name, files=files)]
    if suffix in _TENSOR_SUFFIXES:
        return [Sample(name=path.name, files=(SampleFile(input=None, path=str(path)),))]
    return []


def _members(path: Path) -> Iterable[str | None]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            names = [one for one in held.files if one != _OURS]
    except Exception as error:  # noqa: BLE001 - zip, zlib, header and pickle errors share no base
        raise FormatError(str(path), why=f"NumPy cannot read it ({error})") from None
    return [None] if names == ["arr_0"] else names


def _is_data_set(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("input_*.pb"))


def _order(path: Path) -> list[Any]:
    """Order ``a10`` behind ``a9``."""
    parts = re.split(r"(\d+)", path.name)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def sample_feeds(
    specs: tuple[InputSpec, ...], sample: Sample, workload: Workload, how: Preprocessing
) -> Feeds:
    """Return values for every input, of one sample.

    Args:
        workload: What holds for all samples: files, shapes, ranges and the batch that a user fixed.
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
    own = replace(
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
    fed = make_feeds(others, replace(own, shapes=unseen))
    arrays = {
        spec.name: image_input(pictures[spec.name], spec, how)
        for spec in specs
        if spec.name in pictures
    }
    drawn = {name: tuple(array.shape) for name, array in arrays.items()}
    return replace(fed, arrays={**fed.arrays, **arrays}, shapes={**fed.shapes, **drawn})


def as_file(name: str) -> str:
    """Return a tensor's name as files can have it: ``images:0`` as ``images_0``."""
    return re.sub(r"[^\w.,-]", "_", name)


def _named(one: SampleFile, specs: tuple[InputSpec, ...], sample: Sample) -> str:
    """Return the input a file is for; without a name, the only one."""
    known = [spec.name for spec in specs]
    if one.input in known:
        return str(one.input)
    if one.input is not None:
        by_file = [name for name in known if as_file(name) == one.input]
        if len(by_file) == 1:
            return by_file[0]
        hint = did_you_mean(one.input, known)
        raise UsageError(f"the model has no input called {one.input!r}", hint=hint)
    fixed = [spec.name for spec in specs if spec.default_values is None]
    if len(fixed) == 1:
        return fixed[0]
    wide = [spec.name for spec in specs if len(spec.shape) == 4]
    if one in sample.images and len(wide) == 1:
        return wide[0]
    what = f"{Path(one.path).name} for one of {', '.join(map(repr, known))}"
    hint = "an npz with arrays of the inputs' names, or a folder a sample with NAME.npy"
    raise UsageError(what, why="it does not name its input", hint=hint)


def check_input_names(subject: Subject, workload: Workload) -> None:
    """Raise where a shape, a file or a range is of an input that a model does not have."""
    names = names_in(workload)
    known = declared_inputs(subject) if names else None
    if known is not None:
        _check(names, known, subject.name)


def check_shared_names(jobs: Sequence[Job], samples: Sequence[Sample]) -> None:
    """Raise where none of several models has an input; that some lack it is theirs to differ in."""
    if not _named_by(jobs, samples) and not _pictured(samples):
        return
    subjects = {job.subject.path: job.subject for job in jobs}
    declared = [declared_inputs(subject) for subject in subjects.values()]
    if None not in declared:
        check_names_among({name for one in declared for name in one or ()}, jobs, samples)


def check_names_among(known: Set[str], jobs: Sequence[Job], samples: Sequence[Sample]) -> None:
    """Raise where an input is named that is not among the `known`."""
    spelt = known | {as_file(one) for one in known}
    models = dict.fromkeys(job.subject.name for job in jobs)
    names = (*_named_by(jobs, samples), *sorted(_pictured(samples) - spelt))
    _check(names, known, " or ".join(models))


def declared_inputs(subject: Subject) -> tuple[str, ...] | None:
    """Return the inputs that a model's file declares.

    ``None``: an engine, which its runtime has to be asked, or a file that is not a model, which
    whoever opens it says better.
    """
    if subject.kind == "engine" or subject.path is None:
        return None
    try:
        return onnx_input_names(Path(subject.path))
    except (FormatError, MissingDependencyError):
        return None


def _named_by(jobs: Sequence[Job], samples: Sequence[Sample]) -> tuple[str, ...]:
    of_all = (name for job in jobs for name in names_in(job.workload))
    of_one = (shape.input for sample in samples for shape in sample.shapes)
    return tuple(dict.fromkeys((*of_all, *of_one)))


def _pictured(samples: Sequence[Sample]) -> set[str]:
    every = (image.input for sample in samples for image in sample.images)
    return {name for name in every if name is not None}


def _check(names: Iterable[str], known: Collection[str], model: str) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"{model} has no input called {name!r}", hint=hint)
