"""What lies in files and folders, as samples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.record import Record
from enginescope.records.run.job import InputShape
from enginescope.records.run.sample_set import Sample, SampleFile, SampleShape
from enginescope.runner.inputs.images import IMAGE_SUFFIXES

_TENSOR_SUFFIXES = frozenset({".npy", ".npz", ".pb", ".raw", ".bin", ".dat"})
_NUMBERS = re.compile(r"(\d+)")
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

    Raises:
        UsageError: There is no such path, or nothing in it is a sample.
        FormatError: An npz cannot be read.
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
            raise UsageError(
                f"data {path}",
                why="nothing in it is a sample",
                hint="npy, npz, raw, pb, images, folders with input_*.pb",
            )
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

    Raises:
        UsageError: Two inputs have several shapes, and not as many.
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
    files = sorted((one for one in folder.iterdir() if one.is_file()), key=_order)
    return tuple(
        SampleFile(input=file.stem, path=str(file))
        for file in files
        if file.suffix.lower() in _TENSOR_SUFFIXES
    )


def _from_file(path: Path, image_input: str | None) -> list[Sample]:
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        picture = SampleFile(input=image_input, path=str(path))
        return [Sample(name=path.name, images=(picture,))]
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
    parts = _NUMBERS.split(path.name)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
