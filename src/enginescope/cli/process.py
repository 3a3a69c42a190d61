"""``enginescope process``: trex's workflow in one command, with trex's file names."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import note
from enginescope.core.errors import BackendError, MissingDependencyError, UsageError

if TYPE_CHECKING:
    from enginescope.model.tool_report import ToolReport
    from enginescope.trtexec.version import Version

#: What trex passes to the measurement; TensorRT 11 does all of it by itself.
_MEASURING = ("--noDataTransfers", "--useCudaGraph", "--separateProfileRun", "--useSpinWait")
_RUN = re.compile(r"^enginescope: run (\w+)$", re.MULTILINE)
_USAGE = 2
_CACHE = "--timingCacheFile"
#: Flags whose files process names.
_NAMED_HERE = (
    *("--onnx", "--saveEngine", "--loadEngine"),
    *("--exportTimes", "--exportProfile", "--exportLayerInfo"),
)


@click.command("process", context_settings={"ignore_unknown_options": True})
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--archive", is_flag=True, help="All of it as MODEL.engine.tea too.")
@click.option("--store", "store_folder", type=click.Path(file_okay=False), help="Folder of runs.")
def command(
    model: Path, folder: Path, flags: tuple[str, ...], archive: bool, store_folder: str | None
) -> None:
    """Build MODEL, measure and profile it, and leave all that trex reads in FOLDER.

    FLAGS are trtexec's, for both steps: --fp16 --shapes=input:8x3x224x224. Written are
    MODEL.engine and, beside it, .build.log, .build.metadata.json, .graph.json, .profile.json,
    .timing.json, .profile.log and .profile.metadata.json.
    """
    version = _tensorrt()
    if not model.is_file():
        raise UsageError(f"model {model}", why="there is no such file")
    _check_flags(model, flags, version)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"folder {folder}", why=error.strerror or str(error)) from error
    engine = folder / f"{model.name}.engine"
    shared = ("--verbose", "--profilingVerbosity=detailed", *flags)
    shared += (f"--es-store={store_folder}",) if store_folder else ()
    note(f"building {engine} …")
    built = ("--skipInference", f"--onnx={model}", f"--saveEngine={engine}")
    _step("build", engine, (*built, *shared))
    note("measuring and profiling it …")
    run = _step("profile", engine, _measuring(engine, shared, version))
    if archive:
        _archive(engine, flags)
    for file in sorted(folder.glob(f"{engine.name}*")):
        print(file)
    if run:
        at = f" --store {shlex.quote(store_folder)}" if store_folder else ""
        note(f"report: enginescope report{at} {run[:8]}")


def _tensorrt() -> Version:
    """Return the version of TensorRT that builds.

    Raises
    ------
    MissingDependencyError
        There is none.
    """
    from enginescope.backends.tensorrt.libraries import installed_version
    from enginescope.trtexec.version import parse_version

    version = parse_version(installed_version("full") or "")
    if version is None:
        raise MissingDependencyError(
            "TensorRT is not installed",
            why="process builds an engine",
            hint="pip install tensorrt 'enginescope[trt]'",
        )
    return version


def _measuring(engine: Path, shared: tuple[str, ...], version: Version) -> tuple[str, ...]:
    """Return the flags of the second step: of those of both, what a loaded engine reads.

    Up to TensorRT 8 its log repeats the build's options, so it is given all of them.
    """
    from enginescope.trtexec.without_effect import flags_of_loaded

    return (
        f"--loadEngine={engine}",
        f"--exportTimes={engine}.timing.json",
        f"--exportProfile={engine}.profile.json",
        f"--exportLayerInfo={engine}.graph.json",
        "--dumpProfile",
        *(_MEASURING if version.major < 11 else ()),
        *(flags_of_loaded(shared, version) if version.major >= 9 else shared),
    )


def _archive(engine: Path, flags: tuple[str, ...]) -> None:
    """Write the engine and what lies beside it to one file, with the timing cache of the flags."""
    from enginescope.cli.archive_files import gathered
    from enginescope.formats.tea_writer import write_tea

    target = Path(f"{engine}.tea")
    files = [one for one in sorted(engine.parent.glob(f"{engine.name}*")) if one != target]
    files += [Path(one.partition("=")[2]) for one in flags if one.startswith(f"{_CACHE}=")]
    found = gathered([str(one) for one in files if one.is_file()])
    write_tea(target, found.files, found.subjects)


def _check_flags(model: Path, flags: tuple[str, ...], version: Version) -> None:
    """Raise before anything is built if a flag is wrong, or names a file that process names.

    Raises
    ------
    UsageError
    """
    from enginescope.runner.jobs import subject_of
    from enginescope.trtexec.arguments import read_arguments
    from enginescope.trtexec.settings import settings_of

    if subject_of(model).kind == "engine":
        raise UsageError(f"{model} is an engine already", hint="process takes an ONNX model")
    for one in flags:
        name = one.partition("=")[0]
        if name in _NAMED_HERE:
            raise UsageError(name, why="process names that file itself, in its folder")
    settings_of(read_arguments((f"--onnx={model}", *flags), version))


def _step(name: str, engine: Path, arguments: tuple[str, ...]) -> str | None:
    """Run ``enginescope trtexec``, keep its log and metadata, and return the run's id.

    Raises
    ------
    UsageError
        A flag is wrong.
    BackendError
        The step failed; its log is kept.
    """
    command = [sys.executable, "-m", "enginescope", "trtexec", *arguments]
    ended = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # in the order in which the lines were written
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    log = Path(f"{engine}.{name}.log")
    log.write_text(ended.stdout, encoding="utf-8")
    if ended.returncode == _USAGE:
        raise UsageError(ended.stdout.strip().removeprefix("enginescope: "))
    if ended.returncode != 0:
        raise BackendError(
            f"the {name} of {engine.name} failed",
            why=_first_errors(ended.stdout),
            hint=f"the whole log is {log}",
        )
    _write_metadata(log, Path(f"{engine}.{name}.metadata.json"))
    found = _RUN.search(ended.stdout)
    return found[1] if found else None


def _write_metadata(log: Path, target: Path) -> None:
    from enginescope.core.jsonio import encode, write_atomic
    from enginescope.formats.trex_metadata_writer import log_metadata

    write_atomic(target, encode(log_metadata(_report(log))))


def _report(log: Path) -> ToolReport:
    from enginescope.formats.trtexec_log import parse_trtexec_log

    found, _ = parse_trtexec_log(log.read_bytes(), log.name)
    return found.report


def _first_errors(log: str) -> str:
    errors = [line.partition("[E] ")[2] for line in log.splitlines() if "[E] " in line]
    return "\n".join(errors[:5]) or "the log ends without an error"
