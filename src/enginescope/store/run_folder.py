"""One run as one folder: ``run.json``, its arrays, its artifacts.

Also such a folder as a zip file, and back.
"""

import secrets
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import msgspec
import numpy as np

from enginescope.core.errors import FormatError, StoreError, os_errors_as
from enginescope.core.jsonio import encode, prepared, read_stored, sha256_of, write_atomic
from enginescope.core.packed_files import Member, copy_member, opened_zip, safe_members
from enginescope.core.record import Record, replace
from enginescope.core.sidecar import SEAL, check_seal, decode_record, save_record, sealed
from enginescope.judge.notice import Notice
from enginescope.records.run.run import SCHEMA_VERSION, Artifact, Run
from enginescope.store.row import RunRow, row_of

Document: TypeAlias = dict[str, Any]
DOCUMENT = "run.json"
ARTIFACTS = "artifacts"


def write_run(run: Run, folder: Path, *, files_from: Path | None = None) -> Run:
    """Write `run` and copies of its artifacts into `folder`, and return it as written.

    Artifacts that cannot be read keep their old path, and the run gets a notice.

    Args:
        files_from: What relative paths of artifacts start from; else the working directory.
    """
    kept, lost = [], []
    for artifact in run.artifacts:
        copied = _copy(artifact, files_from or Path(), folder / ARTIFACTS)
        kept.append(copied or artifact)
        if copied is None:
            lost.append(artifact.path)
    notices = run.notices
    if lost:
        message = f"artifacts could not be copied into the store: {', '.join(lost)}"
        notices += (Notice(code="W-ARTIFACT-LOST", message=message, evidence={"paths": lost}),)
    stored = replace(run, artifacts=tuple(kept), notices=notices)
    save_record(stored, folder, DOCUMENT)
    return stored


def read_run(
    folder: Path, *, source: str | None = None, series: Sequence[str] | None = None
) -> Run:
    """Return the run in `folder`.

    Args:
        source: How errors name it; else the path of its ``run.json``.
        series: Read the steady samples of the first of these metrics that has some, and no other
            array, plan or layer time.

    Raises:
        StoreError: It was written by a newer enginescope.
        FormatError: It is missing or damaged; names the file and the place.
    """
    data = read_stored(folder / DOCUMENT)
    source = source or str(folder / DOCUMENT)
    check_seal(data, source)
    if series is not None or not _is_current(data):
        document = _document(data, source)
        data = msgspec.json.encode(document if series is None else _with_series(document, series))
    run = decode_record(Run, data, folder, source=source)
    for where, array in _series(run):
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            why = f"an array of {array.ndim} dimensions of {array.dtype}"
            raise FormatError(source, where=where, why=why, expected="one row of numbers")
    if series is not None and len(series) > 1 and not any(map(len, run.samples)):
        return read_run(folder, source=source, series=series[1:])
    return run


def _with_series(document: Document, series: Sequence[str]) -> Document:
    """Return a document without all that is long but samples of one metric."""
    samples = document.get("samples")
    every = [one for one in samples if isinstance(one, dict)] if isinstance(samples, list) else []
    found = (one for metric in series for one in every if one.get("metric") == metric)
    kept = [
        {key: value for key, value in one.items() if key not in ("warmup_ms", "start_ms")}
        for one in islice(found, 1)
    ]
    long = ("telemetry", "gpu", "plan", "profile", "trace", "answers")
    return {key: value for key, value in document.items() if key not in long} | {"samples": kept}


def rewrite(folder: Path, **changes: Any) -> Run:
    """Change fields of a stored run that hold no arrays, and return it; its arrays stay."""
    path = folder / DOCUMENT
    data = read_stored(path)
    check_seal(data, str(path))
    document = _document(data, str(path))
    document.pop(SEAL, None)
    document.update({key: msgspec.to_builtins(value) for key, value in changes.items()})
    with os_errors_as(StoreError, f"cannot write {path}"):
        write_atomic(path, sealed(encode(document)))
    return read_run(folder)


def changed_tags(tags: Iterable[str], add: Iterable[str], drop: Iterable[str]) -> tuple[str, ...]:
    """Return tags with some added at the end and some dropped, each once."""
    dropped = set(drop)
    return tuple(key for key in dict.fromkeys((*tags, *add)) if key not in dropped)


def size_of(folder: Path) -> int | None:
    """Return the bytes of all files in `folder`; ``None`` when it vanishes meanwhile."""
    try:
        return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    except OSError:  # deleted by another process
        return None


def artifact_paths(run: Run, folder: Path) -> tuple[Path, ...]:
    """Return where the artifacts of a stored run are; those outside its folder are left out."""
    inside = folder.resolve()
    found = (_resolved(inside, artifact.path) for artifact in run.artifacts)
    return tuple(one for one in found if one is not None)


def _resolved(folder: Path, path: str) -> Path | None:
    try:
        file = (folder / path).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that no file can have; a link to itself
        return None


def _is_current(data: bytes) -> bool:
    """Whether `data` is of our schema; a quick look that leaves every complaint to the others."""
    try:
        return msgspec.json.decode(data, type=prepared(_Head)).schema_version == SCHEMA_VERSION
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


class _Head(msgspec.Struct):
    schema_version: int | None = None


def _document(data: bytes, source: str) -> Document:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(source, why=f"not valid JSON ({error})") from None
    if not isinstance(document, dict):
        raise FormatError(source, why=f"a {type(document).__name__}", expected="an object")
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise FormatError(source, why="no schema_version", expected="a stored run")
    if version < SCHEMA_VERSION:
        raise FormatError(source, where="schema_version", why=f"there is no schema {version}")
    if version > SCHEMA_VERSION:
        why = f"it has schema {version}, this enginescope reads up to {SCHEMA_VERSION}"
        raise StoreError(source, why=why, hint="install a newer enginescope")
    return document


def _series(run: Run) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for sample in run.samples:
        for name in ("values_ms", "warmup_ms", "start_ms"):
            if (array := getattr(sample, name)) is not None:
                yield f"samples of {sample.metric}, {name}", array
    gpu = run.gpu
    for name, series in (
        ("telemetry", run.telemetry),
        ("gpu, timed", gpu.timed if gpu else None),
        ("gpu, series", gpu.series if gpu else None),
    ):
        if series is not None:
            yield f"{name}, time_ms", series.time_ms
            for channel in series.channels:
                yield f"{name}, {channel.name}", channel.values


def _copy(artifact: Artifact, origin: Path, folder: Path) -> Artifact | None:
    source = origin / artifact.path
    try:
        if not source.is_file():
            return None
    except (OSError, ValueError):  # a name that no file can have
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = _unused(folder / source.name)
    try:
        shutil.copyfile(source, target)
    except OSError:  # the notice on the run says so
        target.unlink(missing_ok=True)
        return None
    path = f"{ARTIFACTS}/{target.name}"
    return replace(artifact, path=path, sha256=sha256_of(target), size_bytes=target.stat().st_size)


def _unused(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def pack(folder: Path, destination: Path) -> Path:
    """Write `folder` as one top folder of a zip file, and return the file's path."""
    if destination.suffix != ".zip":
        destination = destination.with_name(f"{destination.name}.zip")
    if destination.exists():
        raise StoreError(f"cannot write {destination}", why="a file of this name exists")
    part = destination.with_name(f".{destination.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as made:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    made.write(file, f"{folder.name}/{file.relative_to(folder).as_posix()}")
            if f"{folder.name}/{DOCUMENT}" not in made.namelist():
                raise StoreError(f"run {folder.name}", why=f"it has no {DOCUMENT}")
        part.replace(destination)
    except OSError as error:
        raise StoreError(f"cannot write {destination}", why=str(error)) from error
    finally:
        with suppress(OSError):  # its folder was not there to begin with
            part.unlink(missing_ok=True)
    return destination


def unpack(file: Path, folder: Path, *, most_bytes: int | None = None) -> None:
    """Write what `pack` packed into `folder`, without the top folder.

    Args:
        most_bytes: What all files together may take.

    Raises:
        FormatError: It is not a zip file of a run, it is damaged, or a path in it leads out of its
            folder.
        StoreError: There is no space for it.
    """
    with opened_zip(file, expected="a zip file of one run") as packed:
        every = safe_members(packed, str(file))
        tops = {member.path.parts[0] for member in every}
        members = [Member(one.info, PurePosixPath(*one.path.parts[1:])) for one in every]
        if len(tops) != 1 or PurePosixPath(DOCUMENT) not in {member.path for member in members}:
            why = f"not one folder with a {DOCUMENT} in it"
            raise FormatError(str(file), why=why, expected="a zip file of one run")
        needed = sum(member.info.file_size for member in members)
        if most_bytes is not None and needed > most_bytes:
            why = f"it would take {needed:,} bytes; at most {most_bytes:,} are accepted"
            raise FormatError(str(file), why=why)
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise StoreError(f"cannot unpack {file}", why=f"{needed} bytes; {free} are free")
        for member in members:
            target = folder / member.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                copy_member(packed, member, out)


class Broken(Record, frozen=True, kw_only=True):
    """A run folder that cannot be read, and why."""

    name: str
    reason: str


class Scan(Record, frozen=True, kw_only=True):
    """What was found in folders of runs."""

    rows: tuple[RunRow, ...]
    broken: tuple[Broken, ...] = ()


class ReindexReport(Record, frozen=True, kw_only=True):
    """What making the index again has found."""

    indexed: int
    broken: tuple[Broken, ...] = ()


def read_named(folder: Path, series: Sequence[str] | None = None) -> Run:
    """Return the run in a store's `folder`; `series` as for `read_run`.

    Raises:
        FormatError: It is damaged, or the folder is not named by its id.
        StoreError: A newer enginescope wrote it, or it was deleted meanwhile.
    """
    try:
        run = read_run(folder, series=series)
    except FormatError as error:
        if folder.exists():
            raise
        raise StoreError(f"run {folder.name}", why="it was deleted while it was read") from error
    if run.id != folder.name:
        path = str(folder / DOCUMENT)
        raise FormatError(path, where="id", why=f"it is {run.id!r}", expected=repr(folder.name))
    return run


def scan(runs: Path, names: Iterable[str]) -> Scan:
    """Read the runs of these names; what cannot be read is named, what has vanished is not."""
    rows, broken = [], []
    for name in names:
        folder = runs / name
        try:
            run = read_named(folder)
        except (FormatError, StoreError) as error:
            if folder.exists():
                broken.append(Broken(name=name, reason=str(error)))
            continue
        rows.append(row_of(run, size_bytes=size_of(folder)))
    return Scan(rows=tuple(rows), broken=tuple(broken))
