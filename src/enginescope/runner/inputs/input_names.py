"""Inputs that a request names and no model has: said before anything is started."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from pathlib import Path

from enginescope.core.errors import FormatError, MissingDependencyError, UsageError
from enginescope.core.suggest import did_you_mean
from enginescope.formats.onnx.onnx_graph import onnx_input_names
from enginescope.records.run.job import Job, Subject, Workload
from enginescope.records.run.sample_set import Sample
from enginescope.runner.inputs.sample_feeds import as_file


def check_input_names(subject: Subject, workload: Workload) -> None:
    """Raise where a shape, a file or a range is of an input that a model does not have.

    Raises:
        UsageError: With the names there are.
    """
    names = _named(workload)
    known = declared_inputs(subject) if names else None
    if known is not None:
        _check(names, known, subject.name)


def check_shared_names(jobs: Sequence[Job], samples: Sequence[Sample]) -> None:
    """Raise where none of several models has an input; that some lack it is theirs to differ in.

    Raises:
        UsageError: With the names there are.
    """
    if not _named_by(jobs, samples) and not _pictured(samples):
        return
    subjects = {job.subject.path: job.subject for job in jobs}
    declared = [declared_inputs(subject) for subject in subjects.values()]
    if None not in declared:
        check_names_among({name for one in declared for name in one or ()}, jobs, samples)


def check_names_among(known: Set[str], jobs: Sequence[Job], samples: Sequence[Sample]) -> None:
    """Raise where an input is named that is not among the `known`.

    Raises:
        UsageError: With the names there are.
    """
    spelt = known | {as_file(one) for one in known}
    models = dict.fromkeys(job.subject.name for job in jobs)
    names = (*_named_by(jobs, samples), *sorted(_pictured(samples) - spelt))
    _check(names, known, " or ".join(models))


def declared_inputs(subject: Subject) -> tuple[str, ...] | None:
    """Return the inputs that a model's file declares.

    ``None``: an engine, which its runtime has to be asked, or a file that is no model, which
    whoever opens it says better.
    """
    if subject.kind == "engine" or subject.path is None:
        return None
    try:
        return onnx_input_names(Path(subject.path))
    except (FormatError, MissingDependencyError):
        return None


def _named_by(jobs: Sequence[Job], samples: Sequence[Sample]) -> tuple[str, ...]:
    of_all = (name for job in jobs for name in _named(job.workload))
    of_one = (shape.input for sample in samples for shape in sample.shapes)
    return tuple(dict.fromkeys((*of_all, *of_one)))


def _pictured(samples: Sequence[Sample]) -> set[str]:
    every = (image.input for sample in samples for image in sample.images)
    return {name for name in every if name is not None}


def _named(workload: Workload) -> tuple[str, ...]:
    shapes, files, ranges = workload.shapes, workload.files, workload.ranges
    names = (*(shape.name for shape in shapes), *(file.name for file in files))
    return tuple(dict.fromkeys((*names, *(one.name for one in ranges))))


def _check(names: Iterable[str], known: Collection[str], model: str) -> None:
    for name in names:
        if name not in known:
            raise UsageError(
                f"{model} has no input called {name!r}", hint=did_you_mean(name, known)
            )
