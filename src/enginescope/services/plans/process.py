"""Process: trex's workflow in one call, with trex's file names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path

from enginescope.backends.registry import parse_backend
from enginescope.backends.tensorrt import libraries
from enginescope.compat.trtexec.arguments import (
    Version,
    flags_of_loaded,
    parse_version,
    read_arguments,
)
from enginescope.compat.trtexec.log.log import Line, printed
from enginescope.compat.trtexec.settings import settings_of
from enginescope.core.errors import BackendError, MissingDependencyError, UsageError, os_errors_as
from enginescope.core.jsonio import encode, write_atomic
from enginescope.core.record import Record, Result, replace
from enginescope.formats.trex.trex_metadata import log_metadata
from enginescope.formats.trtexec.trtexec_flags import build_options
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.run.run import Run
from enginescope.runner.jobs import subject_of
from enginescope.services.observer import PlanObserver
from enginescope.services.plans.archive import ArchiveRequest, create_archive
from enginescope.services.trtexec_session import TrtexecObserver, TrtexecRequest, run_trtexec
from enginescope.store.location import without_password

#: Flags that trex passes to the measurement; TensorRT 11 measures so without them.
_MEASURING = ("--noDataTransfers", "--useCudaGraph", "--separateProfileRun", "--useSpinWait")
_CACHE = "--timingCacheFile"
#: Flags whose files process names.
_NAMED_HERE = (
    *("--onnx", "--saveEngine", "--loadEngine"),
    *("--exportTimes", "--exportProfile", "--exportLayerInfo"),
)


class ProcessRequest(Record, frozen=True, kw_only=True):
    """What to build and measure, and where the files go; see `process`."""

    model: Path
    folder: Path
    flags: tuple[str, ...] = ()
    on: str = "trt"
    is_archived: bool = False
    store: str | None = None


class ProcessResult(Result, Record, frozen=True, kw_only=True):
    """Files of the engine, sorted, and the id of the run that measured it."""

    files: tuple[Path, ...]
    run_id: str | None


def process_model(request: ProcessRequest, observer: PlanObserver) -> ProcessResult:
    """Build a model, measure and profile the engine, and write the files that trex reads."""
    model, folder, flags = request.model, request.folder, request.flags
    spec = parse_backend(request.on)
    if spec.name != "trt" or spec.precision is not None:
        hint = "trt or trt-rtx; a flag sets the precision"
        raise UsageError(f"process on {request.on}", hint=hint)
    options = spec.options  # that the flags do not set
    version = _tensorrt(options.get("runtime", "full"))
    if not model.is_file():
        raise UsageError(f"model {model}", why="no such file")
    _check_flags(model, flags, version)
    with os_errors_as(UsageError, f"folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    engine = folder / f"{model.name}.engine"
    shared = ("--verbose", "--profilingVerbosity=detailed", *flags)
    shared += (f"--es-store={request.store}",) if request.store else ()
    observer.progress(f"building {engine} …")
    built = ("--skipInference", f"--onnx={model}", f"--saveEngine={engine}", _layers(engine))
    _step("build", engine, (*built, *shared), version, options)
    loaded = {key: text for key, text in options.items() if key not in build_options(options)}
    observer.progress("measuring and profiling it …")
    run_id = _step("profile", engine, _measuring(engine, shared, version), version, loaded)
    if request.is_archived:
        _archive(engine, flags)
    return ProcessResult(files=tuple(sorted(folder.glob(f"{engine.name}*"))), run_id=run_id)


def process(
    model: str | PathLike[str],
    folder: str | PathLike[str],
    flags: Sequence[str] = (),
    *,
    on: str = "trt",
    archive: bool = False,
    store: str | PathLike[str] | None = None,
) -> ProcessResult:
    """Build a model, measure and profile the engine, and write the files that trex reads.

    Args:
        model: An ONNX model.
        folder: Created if it is missing.
        flags: Flags of trtexec, for both steps: ``["--fp16", "--shapes=input:8x3x224x224"]``.
        on: ``"trt"``, or ``"trt-rtx?compute_capabilities=8.9"``.
        archive: Write all files to ``MODEL.engine.tea`` too.
        store: Store of the runs; by default the command line's.

    Raises:
        UsageError: The model is missing, a flag is wrong, or the folder cannot be written.
        MissingDependencyError: TensorRT, CUDA or a GPU is missing.
        BackendError: A step failed; its log is in the folder.
    """
    request = ProcessRequest(
        model=Path(model),
        folder=Path(folder),
        flags=tuple(flags),
        on=on,
        is_archived=archive,
        store=str(store) if store is not None else None,
    )
    return process_model(request, PlanObserver())


class _Log(TrtexecObserver):
    def __init__(self) -> None:
        self.text: list[str] = []
        self.run_id: str | None = None

    def status(self, line: str) -> None:
        self.text.append(line)

    def lines(self, lines: Iterable[Line]) -> None:
        now = datetime.now()  # noqa: DTZ005 - local, as trtexec's
        self.text += [printed(line, now) for line in lines]

    def run_stored(self, run: Run) -> None:
        self.run_id = run.id
        self.text.append(f"enginescope: run {run.id}")


def _tensorrt(runtime: str) -> Version:
    if runtime == "rtx":
        return Version(major=libraries.load(runtime).version[0], minor=0)
    version = parse_version(libraries.installed_version(runtime) or "")
    if version is None:
        why = "process builds an engine"
        hint = "pip install tensorrt 'enginescope[trt]'"
        raise MissingDependencyError("TensorRT is not installed", why=why, hint=hint)
    return version


def _measuring(engine: Path, shared: tuple[str, ...], version: Version) -> tuple[str, ...]:
    """Return the flags of the second step: of those of both, what a loaded engine reads.

    Up to TensorRT 8 its log repeats the build's options, so it is given all of them.
    """
    return (
        f"--loadEngine={engine}",
        f"--exportTimes={engine}.timing.json",
        f"--exportProfile={engine}.profile.json",
        _layers(engine),
        "--dumpProfile",
        *(_MEASURING if version.major < 11 else ()),
        *(flags_of_loaded(shared, version) if version.major >= 9 else shared),
    )


def _layers(engine: Path) -> str:
    return f"--exportLayerInfo={engine}.graph.json"


def _archive(engine: Path, flags: tuple[str, ...]) -> None:
    """Write the engine and its files to one file, with the timing cache of the flags."""
    target = Path(f"{engine}.tea")
    files = [file for file in sorted(engine.parent.glob(f"{engine.name}*")) if file != target]
    files += [Path(flag.partition("=")[2]) for flag in flags if flag.startswith(f"{_CACHE}=")]
    names = tuple(str(file) for file in files if file.is_file())
    request = ArchiveRequest(archive=target, files=names, force=True, only=True)
    create_archive(request, PlanObserver())


def _check_flags(model: Path, flags: tuple[str, ...], version: Version) -> None:
    """Raise before anything is built if a flag is wrong, or names a file that process names."""
    if subject_of(model).kind == "engine":
        raise UsageError(f"{model} is an engine already", hint="process needs an ONNX model")
    for flag in flags:
        name = flag.partition("=")[0]
        if name in _NAMED_HERE:
            raise UsageError(name, why="process names that file itself, in its folder")
    settings_of(read_arguments((f"--onnx={model}", *flags), version))


def _step(
    name: str,
    engine: Path,
    arguments: tuple[str, ...],
    version: Version,
    options: Mapping[str, str],
) -> str | None:
    log = _Log()
    typed = shlex.join(("enginescope", "trtexec", *arguments))
    settings = settings_of(read_arguments(arguments, version))
    request = TrtexecRequest(
        settings=replace(settings, options={**settings.options, **options}),
        arguments=arguments,
        command=without_password(typed),
    )
    is_well = run_trtexec(request, log)
    path = Path(f"{engine}.{name}.log")
    text = "".join(f"{line}\n" for line in log.text)
    path.write_text(text, encoding="utf-8")
    if not is_well:
        errors = [line.partition("[E] ")[2] for line in text.splitlines() if "[E] " in line]
        why = "\n".join(errors[:5]) or "the log ends without an error"
        hint = f"the whole log is {path}"
        raise BackendError(f"the {name} of {engine.name} failed", why=why, hint=hint)
    found, _ = parse_trtexec_log(path.read_bytes(), path.name)
    write_atomic(Path(f"{engine}.{name}.metadata.json"), encode(log_metadata(found.report)))
    return log.run_id
