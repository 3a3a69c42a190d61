"""The cells of a suite: every model on each of its backends, in every batch and shape.

Which cells of a suite are done, which failed before, and which are to be run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from enginescope.backends.registry import parse_backend, read_spec
from enginescope.core.digest import sha256_of
from enginescope.core.errors import BackendError, MissingDependencyError, UsageError
from enginescope.core.optional import has_come
from enginescope.core.record import Record, replace
from enginescope.core.suggest import did_you_mean
from enginescope.records.run.job import BackendSpec, Job, Subject, Workload
from enginescope.records.suite.suite import (
    Cell,
    CellRow,
    CellStatus,
    Checking,
    ResumeState,
    Suite,
    SuiteModel,
)
from enginescope.runner.jobs import subject_of
from enginescope.runner.model_inputs import settled_workload

#: Files beside a model that may hold its weights.
_WEIGHTS = ("*.data", "*.onnx_data*", "*.weights", "*.bin")
_KEY_LENGTH = 16


def cells_of(suite: Suite, *, engine_cache: Path | None = None) -> tuple[Cell, ...]:
    """Return the cells of a suite, models outermost, then backends.

    Reads every model once, for its hash; nothing is loaded or run.

    Args:
        engine_cache: Where built engines are kept.
    """
    cells = []
    reference = _digest_of_reference(suite)
    for model in suite.models:
        subject = subject_of(Path(model.path))
        weights = _weights_beside(Path(model.path))
        sets = model.data_sets if suite.input == "dataset" else ()
        digests = [
            [(file.name, sha256_of(file)) for file in sorted(Path(folder).glob("*.pb"))]
            for folder in sets
        ]
        for spec, refusal in map(_spec, model.backends):
            for cell in _of_backend(suite, model, _job(suite, subject, spec, engine_cache)):
                content = [subject.sha256, weights, digests, *reference]
                cells.append(replace(cell, refusal=refusal, key=_key(cell, content)))
    _check_baseline(suite, cells)
    return tuple({cell.key: cell for cell in cells}.values())


def _check_baseline(suite: Suite, cells: list[Cell]) -> None:
    specs = dict.fromkeys(cell.spec for cell in cells)
    if suite.baseline is not None and suite.baseline not in specs:
        raise UsageError(
            f"baseline {suite.baseline}",
            why="it is not one of the suite's backends",
            hint=did_you_mean(suite.baseline, specs),
        )


def _job(suite: Suite, subject: Subject, spec: BackendSpec, cache: Path | None) -> Job:
    return Job(
        subject=subject,
        backend=spec,
        workload=Workload(seed=suite.seed, warmup=suite.warmup, stop=suite.stop),
        layer_profile=suite.layers,
        limits=suite.limits,
        engine_cache=str(cache.absolute()) if cache else None,
    )


def _of_backend(suite: Suite, model: SuiteModel, job: Job) -> Iterator[Cell]:
    for batch, shapes, dims in product(model.batches, model.shapes, model.dims):
        # a data set has shapes of its own, and is of single items as a rule
        has_own = bool(shapes) or bool(dims) or (batch or 1) > 1
        is_fed = suite.input == "dataset" and bool(model.data_sets) and not has_own
        sets = model.data_sets if is_fed else ()
        limits = model.limits or job.limits
        workload = replace(
            job.workload,
            batch=batch,
            shapes=shapes,
            ranges=model.ranges,
            dims=dims,
            data_set=sets[0] if sets else None,
            mode=replace(job.workload.mode, decode=model.decode),
        )
        workload = settled_workload([Path(model.path)], workload)
        yield Cell(
            key="",
            model=model.name,
            mode=suite.mode,
            input="dataset" if is_fed else "random",
            job=replace(job, workload=workload, limits=limits),
            data_sets=sets,
            checking=suite.checking,
            needs=model.needs,
            retries=suite.retries,
            processes=suite.processes if suite.mode != "validate" else 1,
        )


def _spec(text: str) -> tuple[BackendSpec, str | None]:
    spec = read_spec(text)
    alone = replace(spec, environment=None)
    try:
        parse_backend(str(alone))
    except (MissingDependencyError, BackendError):  # of this machine: the cell will say so
        return spec, None
    except UsageError as error:
        if spec.precision is None:
            raise
        parse_backend(str(replace(alone, precision=None)))  # only the precision
        return spec, f"{error.what}{f': {error.why}' if error.why else ''}"
    return spec, None


def _key(cell: Cell, content: list[Any]) -> str:
    """Return what a cell is known by: it tells nothing of where its files lie."""
    job = cell.job
    workload = _known_workload(job.workload)
    checking = cell.checking if cell.mode != "benchmark" else None
    if checking is not None and _reference_file(checking) is not None:  # its content counts
        checking = replace(checking, reference=None)
    known: list[Any] = [content, cell.model, cell.mode, cell.input, str(job.backend), workload]
    known += [job.layer_profile, checking, cell.needs]
    known += [cell.processes] if cell.processes > 1 else []  # of one as it was before
    return hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()[:_KEY_LENGTH]


def _known_workload(workload: Workload) -> dict[str, Any]:
    """Return the workload as keys have it: without its place, and without fields of no content.

    The latter came later: cells that do not use them keep their keys.
    """
    fields: dict[str, Any] = msgspec.to_builtins(workload)
    for later in ("decode", "call", "loop"):
        if fields["mode"][later] is None:
            del fields["mode"][later]
    unused = [
        one for one in ("dims", "open_dims", "index_inputs", "filled", "derived") if not fields[one]
    ]
    for one in unused:
        del fields[one]
    return {**fields, "data_set": None}


def _weights_beside(path: Path) -> list[tuple[str, int, int]]:
    """Return name, size and time of change of what may be a model's weights, unread."""
    if path.suffix.lower() != ".onnx":
        return []
    found = {one for pattern in _WEIGHTS for one in path.parent.glob(pattern) if one.is_file()}
    return [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(found)]


def _digest_of_reference(suite: Suite) -> list[Any]:
    path = _reference_file(suite.checking) if suite.mode != "benchmark" else None
    if path is None:
        return []
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file())
        return [[(str(file.relative_to(path)), sha256_of(file)) for file in files]]
    return [[sha256_of(path), _weights_beside(path)]]


def _reference_file(checking: Checking) -> Path | None:
    """Return the file or folder of a reference, which `suite_of` names by its whole path."""
    path = Path(checking.reference or "")
    return path if path.is_absolute() and path.exists() else None


#: Results that another limit can change.
_OF_LIMITS = frozenset({CellStatus.TIMED_OUT, CellStatus.OUT_OF_MEMORY})


class Fingerprints(Record, frozen=True, kw_only=True):
    """Versions and hardware that the cells of a suite run on; see `environment_fingerprint`.

    Attributes:
        own: Of this Python.
        environments: Of other Pythons of this machine, by their names in the suite.
    """

    own: dict[str, str]
    environments: dict[str, dict[str, str]] = {}  # noqa: RUF012 - msgspec copies empty defaults

    def of(self, cell: Cell) -> dict[str, str]:
        """Return the fingerprint of the Python that runs `cell`."""
        return self.own if cell.environment is None else self.environments[cell.environment]


def resume_state(
    cells: Sequence[Cell],
    rows: Mapping[str, CellRow],
    fingerprints: Fingerprints | None,
    *,
    retry_failed: bool = False,
    retry_busy: bool = False,
) -> ResumeState:
    """Compare cells with the rows of former sessions.

    Args:
        rows: Rows of cells that ended before, by the cells' keys.
        fingerprints: A row with another fingerprint is not done; ``None``: any row counts.
        retry_failed: Run failed cells again.
        retry_busy: Run cells again whose figures are unstable.
    """
    done, bad, todo = [], [], []
    changed = 0
    for cell in cells:
        row = rows.get(cell.key)
        if row is None:
            todo.append(cell)
        elif fingerprints is not None and row.versions != fingerprints.of(cell):
            changed += bool(row.versions)  # a row without versions could not even be started
            todo.append(cell)
        elif row.is_unstable and retry_busy:
            todo.append(cell)
        elif row.status is CellStatus.OK:
            done.append(row)
        elif retry_failed or _can_end_otherwise(cell, row, is_here=fingerprints is not None):
            todo.append(cell)
        else:
            bad.append(row)
    return ResumeState(done=tuple(done), known_bad=tuple(bad), todo=tuple(todo), changed=changed)


def _can_end_otherwise(cell: Cell, row: CellRow, *, is_here: bool) -> bool:
    if row.status in _OF_LIMITS:
        return row.cell.job.limits != cell.job.limits
    # the packages of other environments and machines are not known here
    return is_here and cell.environment is None and has_come(row.reason)
