"""Pictures in folders and below, as samples named by their paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from enginescope.core.errors import UsageError
from enginescope.records.run.sample_set import Sample, SampleFile
from enginescope.runner.inputs.images import IMAGE_SUFFIXES


def picture_samples(
    paths: Sequence[Path], *, image_input: str | None = None
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return a sample for each picture, and the names of what is none.

    Args:
        paths: Pictures, and folders with pictures in them and below; a picture in a folder is
            called by its path below that, so that folders named by class tell them apart.

    Raises:
        UsageError: There is no such path, or no picture in it.
    """
    samples: list[Sample] = []
    skipped: list[str] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"images {path}", why="there is no such file or folder")
        root = path if path.is_dir() else path.parent
        before = len(samples)
        for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = one.relative_to(root).as_posix()
            if one.name.startswith(".") or not one.is_file():
                continue
            if one.suffix.lower() in IMAGE_SUFFIXES:
                picture = SampleFile(input=image_input, path=str(one.resolve()))
                samples.append(Sample(name=name, images=(picture,)))
            else:
                skipped.append(name)
        if len(samples) == before:
            raise UsageError(
                f"images {path}", why="no picture is in it", hint=", ".join(sorted(IMAGE_SUFFIXES))
            )
    return tuple(samples), tuple(skipped)
