"""What the sides of a comparison are called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from enginescope.model.job import Job
from enginescope.render.facts import backend_text


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


def comparison_tag(comparison: str) -> str:
    """Return the tag by which the runs of a comparison are found again."""
    return f"cmp-{comparison}"
