"""What a suite run is asked for: the suite, its cells and folder, and the fleet that runs it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec

from enginescope.analysis.errors.output_tolerance import request_of, tolerance_named
from enginescope.backends.registry import parse_backend, read_spec
from enginescope.core.errors import UsageError, foreign, os_errors_as
from enginescope.core.jsonio import write_atomic
from enginescope.core.optional import is_installed, require
from enginescope.core.record import Record, replace
from enginescope.formats.plan.engine_file import ENGINE_SUFFIXES
from enginescope.formats.suites.suite_file import (
    SUITE_SUFFIXES,
    GeneralPart,
    SuiteFile,
    TimingPart,
    ValidationPart,
    read_suite_file,
    suite_file,
)
from enginescope.records.progress import Progress
from enginescope.records.suite.suite import (
    Cell,
    CellRow,
    ResumeState,
    Suite,
    SuiteInput,
    SuiteMode,
    SuitePlan,
    SuiteResult,
)
from enginescope.runner.fleet.machines import REFERENCES, Fleet
from enginescope.runner.suites.suite_cells import cells_of
from enginescope.runner.suites.suite_plan import MODEL_SUFFIXES, suite_of
from enginescope.services.declared import Param, unflagged
from enginescope.services.observer import Observer
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace
from enginescope.store.run_names import is_tag
from enginescope.store.suite_folder import SUITES, SuiteFolder


class ThisMachine(Record, frozen=True, kw_only=True):
    """Run cells on this machine.

    Attributes:
        jobs: Cells at a time, each on cores of its own, never two on one GPU.
    """

    jobs: int = 1


class RayCluster(Record, frozen=True, kw_only=True):
    """Run cells on a Ray cluster: ``auto``, ``HOST:PORT``, ``ray://HOST:PORT`` or ``local``."""

    address: str


class DockerImage(Record, frozen=True, kw_only=True):
    """Run each cell in a container of its own."""

    image: str


Place: TypeAlias = ThisMachine | RayCluster | DockerImage


class PushTarget(Record, frozen=True, kw_only=True):
    """Server that gets each row and run of a suite while it runs.

    Attributes:
        url: Of ``enginescope serve --accept-push``.
        token_file: Where the token is from, for the command that sends what is left.
    """

    url: str
    token: str
    token_file: Path | None = None

    def __repr__(self) -> str:
        """Return the URL without the token."""
        return f"PushTarget(url={self.url!r})"


def _environment(text: str) -> tuple[str, str]:
    name, equals, python = text.partition("=")
    if not equals or not name or not python:
        raise UsageError(f"{text!r} is not NAME=PYTHON", hint="trt86=/opt/trt86/bin/python")
    path = os.path.expanduser(python)  # noqa: PTH111 - Path's raises where there is no such user
    return name, str(Path(path).absolute()) if "/" in path else python


class SuiteRequest(Record, frozen=True, kw_only=True):
    """Options of a suite run: the suite, values that replace those of its file, and the place.

    Attributes:
        source: Suite file (TOML, YAML, model_list.json), or a folder of models.
        place: Where cells run.
        folder: Folder of the suite; ``None``: ``suites/NAME`` in the store.
        store: Folder or database of runs; ``None``: ``$ENGINESCOPE_HOME``, else the platform's.
        push: Server to send rows and runs to; ``None``: none.
        command: The command line to record.
    """

    source: Path
    name: Annotated[
        str | None, Param("Name the suite.", usual="the file's setting, else the file name")
    ] = None
    backends: Annotated[
        Sequence[str],
        Param(
            "Backend to run on, as NAME[:PRECISION][@ENVIRONMENT][?KEY=VALUE&…].",
            flag="--on",
            usual="the file's",
        ),
    ] = ()
    environments: Annotated[
        Mapping[str, str],
        Param(
            "Python interpreter for backends with @NAME.",
            flag="--environment",
            metavar="NAME=PYTHON",
            read=_environment,
        ),
    ] = {}
    batches: Annotated[Sequence[int], unflagged("Batch size to run.")] = ()
    mode: Annotated[SuiteMode | None, Param("Measure speed, validate outputs, or both.")] = None
    input: Annotated[SuiteInput | None, Param("Feed random inputs or the model's data set.")] = None
    include: Annotated[
        Sequence[str], Param("Run only models whose name contains or matches this pattern.")
    ] = ()
    exclude: Annotated[
        Sequence[str], Param("Skip models whose name contains or matches this pattern.")
    ] = ()
    baseline: Annotated[
        str | None, Param("Backend to compute the speed-up against.", usual="the first")
    ] = None
    warmup: Annotated[
        str | int | None, Param("Warm up for at least this time or count, until steady.")
    ] = None
    iterations: Annotated[
        int | None, Param("Stop after exactly this many iterations.", least=1)
    ] = None
    duration: Annotated[str | None, Param("Stop after this measuring time.")] = None
    max_time: Annotated[
        str | None, Param("Maximum measuring time; stops before the precision is reached.")
    ] = None
    processes: Annotated[
        int | None, Param("Number of fresh processes per cell.", least=1, usual="1")
    ] = None
    reference: Annotated[
        str | None, Param("Compare outputs with this reference; see enginescope validate.")
    ] = None
    samples: Annotated[
        int | None, Param("Number of random samples if there is no data set.", least=1)
    ] = None
    tolerance: Annotated[
        str | None,
        Param(
            "Use the tolerances of this precision, such as fp16.",
            metavar="PRECISION",
            usual="from both sides",
        ),
    ] = None
    rtol: Annotated[float | None, Param("Relative tolerance for all outputs.", least=0)] = None
    atol: Annotated[float | None, Param("Absolute tolerance for all outputs.", least=0)] = None
    percent_mismatch: Annotated[
        float | None,
        Param("Percentage of elements that may exceed the tolerances.", least=0, most=100),
    ] = None
    layers: Annotated[
        bool | None,
        Param("Measure per-layer times, for the coverage table.", flag="--layers/--no-layers"),
    ] = None
    timeout: Annotated[str | None, Param("Time limit per cell, such as 10min.")] = None
    memory_limit: Annotated[str | None, Param("Memory limit per cell, such as 4GiB.")] = None
    retries: Annotated[int | None, Param("Retry a failed cell this many times.", least=0)] = None
    retry_failed: Annotated[bool, Param("Run cells again that failed in an earlier session.")] = (
        False
    )
    retry_busy: Annotated[
        bool,
        Param("Run cells again that an earlier session measured on a busy machine (marked !)."),
    ] = False
    place: Place = ThisMachine()
    folder: Path | None = None
    store: StorePlace | None = None
    push: PushTarget | None = None
    command: str | None = None


def fleet_for(place: RayCluster | DockerImage, folder: Path) -> Fleet:
    """Return the fleet of a place, for the suite in `folder`."""
    references = str(folder.resolve() / REFERENCES)
    if isinstance(place, DockerImage):
        from enginescope.runner.fleet.container import DockerFleet

        return DockerFleet(place.image, references)
    from enginescope.runner.fleet.ray_fleet import RayFleet
    from enginescope.services.suites.remote_cell import run_remote_cell

    if not is_installed("ray"):  # it is imported when its environment variables are set
        require("ray", purpose="--on-ray", install="enginescope[ray]")
    return RayFleet(place.address, run_remote_cell, references)


class SuiteObserver(Observer):
    """Receives the reports of a suite; every method does nothing until a subclass overrides it.

    Cells that run at a time have different slots, from 0. On this machine, each slot reports from a
    thread of its own. `check_cancelled` is called before each cell; on a fleet, after it too.
    """

    def session_started(self, plan: SuitePlan, state: ResumeState) -> None:
        """Report the plan and the cells of this session, before any cell runs."""

    def cell_started(self, cell: Cell, slot: int, place: str | None = None) -> None:
        """Report the start of a cell; `place` is the machine of a fleet."""

    def process_started(self, slot: int, number: int) -> None:
        """Report the start of a measuring process of the slot's cell, counted from 0."""

    def cell_progressed(self, slot: int, progress: Progress) -> None:
        """Report the progress of the slot's cell."""

    def cell_retried(self, cell: Cell, why: str) -> None:
        """Report that a machine was lost, and that its cell runs again."""

    def cell_ended(self, row: CellRow, slot: int) -> None:
        """Report a row; it is stored."""

    def sending_failed(self, why: str) -> None:
        """Report that rows cannot be sent now: they are stored here, and sent later.

        A thread of its own reports it, once for each reason.
        """

    def session_ended(self, result: SuiteResult) -> None:
        """Report all rows of the suite, also after an interruption."""

    def table_skipped(self, name: str, why: str) -> None:
        """Report a table that was not written, as an optional package is not installed."""


def list_cells(request: SuiteRequest) -> tuple[Cell, ...]:
    """Return the cells of a suite, and run none; raise as `resolve_suite` does."""
    store = Store(request.store)
    return cells_in(resolve_suite(request, store), store)


def cells_in(suite: Suite, store: Store) -> tuple[Cell, ...]:
    """Return the cells of a suite; engines that they build go into the store's cache."""
    return cells_of(suite, engine_cache=store.path / "engines")


def folder_for(suite: Suite, request: SuiteRequest, store: Store) -> SuiteFolder:
    if not is_tag(suite.name):
        why = "its runs have it as a tag: no blanks, no slashes, not latest"
        raise UsageError(f"suite name {suite.name!r}", why=why, hint="`name` NAME")
    return SuiteFolder(request.folder or store.suite_home() / SUITES / suite.name)


def resolve_suite(request: SuiteRequest, store: Store) -> Suite:
    """Return the suite of a file or folder, with the values of the request in place of its keys."""
    source = request.source
    if source.is_dir():
        file, base = SuiteFile(suite=GeneralPart(models=(str(source.resolve()),))), Path.cwd()
        name = source.resolve().name
    elif source.is_file() and source.suffix.lower() in MODEL_SUFFIXES:
        why = "it is a model, and a suite is a file of settings or a folder of models"
        hint = f"{shlex.join(['enginescope', 'bench', str(source)])} measures one model"
        raise UsageError(f"suite {source}", why=why, hint=hint)
    elif source.is_file():
        file, base, name = read_suite_file(source), source.resolve().parent, source.stem
    else:
        hint = "enginescope suite --init writes an example"
        raise UsageError(f"suite {source}", why="no such file or folder", hint=hint)
    file = _replaced(file, request)
    with foreign(str(source), "paths of models, data sets and Pythons"):
        suite = suite_of(file, base, name=name, samples=store.path / "samples")
    _check_validation(suite)
    specs = [spec for model in suite.models for spec in model.backends]
    named = next((spec for spec in specs if read_spec(spec).environment), None)
    if named is not None and not isinstance(request.place, ThisMachine):
        why = "environments belong to this machine, and the cells run on other machines"
        hint = "a fleet or an image has its own versions: remove the @"
        raise UsageError(f"backend {named}", why=why, hint=hint)
    return suite


def _replaced(file: SuiteFile, request: SuiteRequest) -> SuiteFile:
    """Return the file with the values of the request.

    Backends, batches and limits hold for every model; ``exclude`` adds to the file's patterns.
    """
    exclude = (*file.suite.exclude, *request.exclude)
    general = replace(file.suite, **{**_values(request, GeneralPart), "exclude": exclude})
    models = file.model
    if request.backends:
        general = replace(general, precisions=())
        models = tuple(replace(model, backends=(), precisions=()) for model in models)
    if request.batches:
        models = tuple(replace(model, batches=()) for model in models)
    for limit in ("timeout", "memory_limit"):
        if getattr(request, limit):
            models = tuple(replace(model, **{limit: None}) for model in models)
    validation = _values(request, ValidationPart)
    if request.reference is not None and Path(request.reference).exists():
        validation["reference"] = str(Path(request.reference).absolute())
    replaced = replace(
        file,
        environments={**file.environments, **request.environments},
        suite=general,
        model=models,
        timing=replace(file.timing, **_values(request, TimingPart)),
        validation=replace(file.validation, **_limits_to_clear(validation), **validation),
    )
    # the types of the file's keys say which values there can be
    tables = msgspec.to_builtins(replaced)
    return suite_file({**tables, "model": list(tables["model"])}, source="SuiteRequest")


def _values(request: SuiteRequest, part: type[Record]) -> dict[str, Any]:
    values = {name: getattr(request, name, None) for name in part.__struct_fields__}
    return {name: value for name, value in values.items() if value not in (None, ())}


def _limits_to_clear(validation: dict[str, Any]) -> dict[str, None]:
    if "tolerance" in validation:
        return {name: None for name in ("rtol", "atol") if name not in validation}
    return {"tolerance": None} if {"rtol", "atol"} & set(validation) else {}


def _check_validation(suite: Suite) -> None:
    """Raise for an unknown tolerance or reference: every cell would fail alike."""
    if suite.mode == "benchmark":
        return
    checking = suite.checking
    general = request_of(checking).in_place_of_rows()
    if checking.tolerance is not None and general is not None:
        what = f"tolerance {checking.tolerance} and {general} {getattr(checking, general):g}"
        why = f"{general} for all outputs already covers it"
        raise UsageError(what, why=why, hint="one of them")
    if checking.tolerance is not None:
        tolerance_named(checking.tolerance)
    reference = checking.reference
    if reference is None or (Path(reference).is_absolute() and Path(reference).exists()):
        return
    path = Path(reference.partition("?")[0])
    if len(path.parts) > 1 or path.suffix.lower() in (".onnx", *ENGINE_SUFFIXES):
        hint = "paths in a suite start at its file; on the command line, at this folder"
        raise UsageError(f"reference {reference}", why="no such file or folder", hint=hint)
    if read_spec(reference).environment is not None:
        why = "a cell's reference runs in the Python of the cell"
        raise UsageError(f"reference {reference}", why=why, hint="remove the @")
    parse_backend(reference)


def example() -> str:
    """Return the commented example of a suite file."""
    return files("enginescope.services.suites").joinpath("example.toml").read_text("utf-8")


def write_example(path: Path) -> Path:
    """Write the example to a new file, in a folder ``suite.toml``; return its path."""
    if path.is_dir():
        path /= "suite.toml"
    if path.suffix.lower() in SUITE_SUFFIXES - {".toml"}:
        hint = f"`init` {path.with_suffix('.toml')}"
        raise UsageError(f"`init` {path}", why="the example is TOML", hint=hint)
    if path.exists():
        raise UsageError(f"{path} already exists", hint="name another file: `init` FILE")
    with os_errors_as(UsageError, f"cannot write {path}"):
        write_atomic(path, example().encode())
    return path
