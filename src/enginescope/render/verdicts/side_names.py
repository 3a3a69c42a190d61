"""What the sides of a comparison are called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from enginescope.core.errors import UsageError
from enginescope.records.run.job import Job
from enginescope.render.base.facts import backend_text


def side_names(jobs: Sequence[Job]) -> list[str]:
    """Return ``net.onnx · ort-cpu``; models of one name by where their paths part ways."""
    paths = {job.subject.path for job in jobs}
    names = {job.subject.name for job in jobs}
    if len(names) < len(paths) and None not in paths:
        whole = [Path(str(job.subject.path)) for job in jobs]
        shared = os.path.commonpath([one.parent for one in whole])
        subjects = [str(one.relative_to(shared)) for one in whole]
    else:
        subjects = [job.subject.name for job in jobs]
    return [
        f"{name} · {backend_text(job.backend)}" for name, job in zip(subjects, jobs, strict=True)
    ]


def side_labels(count: int) -> str:
    """Return the letters of `count` sides.

    Raises:
        UsageError: There are more sides than letters.
    """
    if count > len(ascii_uppercase):
        raise UsageError(
            f"{count} sides to compare",
            why=f"a comparison has at most {len(ascii_uppercase)}, one for each letter",
            hint="compare them in several parts, each with the same first side",
        )
    return ascii_uppercase[:count]


def comparison_tag(comparison: str) -> str:
    """Return the tag by which the runs of a comparison are found again."""
    return f"cmp-{comparison}"
