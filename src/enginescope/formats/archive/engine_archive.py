"""Read and write archives of engines: ours with a manifest, and trex's ``.tea`` files.

It may be a folder: the manifest of a ``.tea`` over every file of it, sealed.
"""

import hashlib
import secrets
import shutil
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from enginescope._version import __version__
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import decode, encode, read_bytes, sha256_of, write_atomic
from enginescope.core.packed_files import Member, copy_member, opened_zip, safe_members
from enginescope.core.record import Record
from enginescope.core.sidecar import SEAL, check_seal, sealed
from enginescope.formats.importing import artifact_kinds
from enginescope.formats.plan.engine_file import is_engine_file
from enginescope.records.environment import Device

#: Name of the manifest in the archive.
MANIFEST = "manifest.json"
FORMAT = "enginescope-archive"
#: Version of the manifest's shape. Raised when an old reader could misread a new file.
SCHEMA = 1


class TeaEntry(Record, frozen=True, kw_only=True):
    """A file in an archive.

    Attributes:
        name: Its path there, with ``/``.
        kind: ``"engine"``, ``"plan"``, ``"trtexec_log"``, ``"run"``, …; ``"other"``: not known.
        sha256: Of its content; ``None`` where there is no manifest.
    """

    name: str
    kind: str
    size_bytes: int
    sha256: str | None = None


class TeaSubject(Record, frozen=True, kw_only=True):
    """An engine that the archive tells of.

    Attributes:
        versions: Of TensorRT and others, as far as files and runs say them.
        command: What it was built or measured with.
    """

    name: str
    versions: dict[str, str] = {}  # noqa: RUF012 - msgspec copies empty defaults
    devices: tuple[Device, ...] = ()
    command: str | None = None


class Manifest(Record, frozen=True, kw_only=True):
    """The manifest.

    Attributes:
        created: ISO 8601, UTC.
        enginescope: Version that wrote it.
        files: All but the manifest.
    """

    created: str
    enginescope: str
    subjects: tuple[TeaSubject, ...] = ()
    files: tuple[TeaEntry, ...] = ()
    format: str = FORMAT
    schema: int = SCHEMA


class _Head(msgspec.Struct):
    format: str | None = None
    schema: int | None = None


def parse_manifest(data: bytes, source: str) -> Manifest | None:
    """Return a manifest; ``None`` for a file of its name that is none of ours."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if head.format != FORMAT:
        return None
    if head.schema is not None and head.schema > SCHEMA:
        why = f"its schema is {head.schema}, this enginescope knows {SCHEMA}"
        raise FormatError(source, where=MANIFEST, why=why, expected="an older one; upgrade")
    return decode(data, Manifest, source=f"{source} at {MANIFEST}")


#: Where the folders of stored runs are.
RUNS = "runs"
RUN_DOCUMENT = "run.json"
#: Beyond this no text is looked at as a whole.
MOST_TEXT_BYTES = 512 << 20
#: What trex's EngineArchive writes beside the engine.
_OF_TREX = {
    "build.txt": "build_log",
    "build_cfg.json": "trex_build_configuration",
    "plan_cfg.json": "trex_engine_configuration",
}
_BY_SUFFIX = {".cache": "timing_cache", ".onnx": "model", ".tea": "archive"}
#: Kinds that no reading verb can read by itself.
OPAQUE = frozenset({"engine", "timing_cache", "model", "archive"})


def kind_by_name(name: str, head: bytes) -> str | None:
    """Return what a file is by its name and how it begins; ``None`` if its content must tell.

    Args:
        name: Its path in the archive.
        head: At most its first `HEAD_BYTES`.
    """
    path = PurePosixPath(name)
    if path.name == RUN_DOCUMENT or path.suffix == ".npy" or RUNS in path.parts[:1]:
        return "run"
    if path.name in _OF_TREX:
        return _OF_TREX[path.name]
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if artifact_kinds.may_be_known(head, path.name):
        return None
    if is_engine_file(head, suffix):
        return "engine"
    return "log" if suffix == ".log" else "other"


def kind_in(file: IO[bytes], name: str, size_bytes: int) -> str:
    """Return what an open file is; ``other`` where that is not known."""
    head = file.read(artifact_kinds.HEAD_BYTES)
    kind = kind_by_name(name, head)
    if kind is None and size_bytes <= MOST_TEXT_BYTES:
        known = artifact_kinds.kind_of(head + file.read(), PurePosixPath(name).name)
        kind = None if known is artifact_kinds.ArtifactKind.UNKNOWN else known.value
    return kind or "other"


EXPECTED = "an archive that enginescope archive or trex wrote"
_MOST_MANIFEST_BYTES = 64 << 20


class TeaContents(Record, frozen=True, kw_only=True):
    """What is in an archive.

    Attributes:
        manifest: ``None``: trex's, or any zip file.
        entries: Its files but the manifest, in the archive's order.
        unlisted: Files that the manifest does not have: put in later.
    """

    manifest: Manifest | None
    entries: tuple[TeaEntry, ...]
    unlisted: tuple[str, ...] = ()


def read_tea(file: Path) -> TeaContents:
    """Return what is in an archive, unpacking nothing.

    Raises:
        FormatError: It is not a zip file, it is damaged, a path in it may lead out of its folder, a
            file is there twice, or one that the manifest names is not there.
    """
    with opened_zip(file, expected=EXPECTED) as packed:
        members = safe_members(packed, str(file))
        manifest = _manifest(packed, members, file)
        listed = {one.name: one for one in manifest.files} if manifest else {}
        entries = []
        for member in members:
            name = member.path.as_posix()
            if manifest is not None and name == MANIFEST:
                continue
            if (entry := listed.get(name)) is None:
                with packed.open(member.info) as source:
                    kind = kind_in(source, name, member.info.file_size)
                entry = TeaEntry(name=name, kind=kind, size_bytes=member.info.file_size)
            entries.append(entry)
    names = {entry.name for entry in entries}
    if missing := [one for one in listed if one not in names]:
        raise FormatError(str(file), where=missing[0], why="the manifest has it, the archive not")
    unlisted = tuple(sorted(names - listed.keys())) if manifest else ()
    return TeaContents(manifest=manifest, entries=tuple(entries), unlisted=unlisted)


def extract_tea(
    file: Path, folder: Path, wanted: Callable[[TeaEntry], bool] = lambda _: True
) -> tuple[Path, ...]:
    """Write an archive's files into `folder`, and return where they are, in its order.

    Each is compared with the checksum of the zip file and the SHA-256 of the manifest.

    Args:
        folder: Made if it is not there. Nothing in it is overwritten.
        wanted: Whether to write a file.

    Raises:
        FormatError: As `read_tea`; or a file is not what the manifest says.
        UsageError: A file of the name is there already, or there is no space.
    """
    chosen = {entry.name: entry for entry in read_tea(file).entries if wanted(entry)}
    with opened_zip(file, expected=EXPECTED) as packed:
        members = [
            member for member in safe_members(packed, str(file)) if member.path.as_posix() in chosen
        ]
        there = next(one for one in (folder, *folder.absolute().parents) if one.is_dir())
        needed = sum(member.info.file_size for member in members)
        if needed > (free := shutil.disk_usage(there).free):
            why = f"it needs {needed:,} bytes, {free:,} are free in {there}"
            raise UsageError(f"cannot unpack {file}", why=why)
        return tuple(
            _extract(packed, member, folder, chosen[member.path.as_posix()]) for member in members
        )


def check_tea(file: Path) -> tuple[str, ...]:
    """Return the files of an archive that are not what its manifest says; reads all of it."""
    listed = {entry.name: entry.sha256 for entry in read_tea(file).entries}
    with opened_zip(file, expected=EXPECTED) as packed:
        return tuple(
            name
            for member in safe_members(packed, str(file))
            if (name := member.path.as_posix()) in listed
            and listed[name] not in (None, copy_member(packed, member))
        )


def _manifest(packed: zipfile.ZipFile, members: list[Member], file: Path) -> Manifest | None:
    found = next((member.info for member in members if member.path.as_posix() == MANIFEST), None)
    if found is None:
        return None
    if found.file_size > _MOST_MANIFEST_BYTES:
        raise FormatError(str(file), where=MANIFEST, why=f"it has {found.file_size:,} bytes")
    return parse_manifest(packed.read(found), str(file))


def _extract(packed: zipfile.ZipFile, member: Member, folder: Path, entry: TeaEntry) -> Path:
    target = folder / member.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:
            found = copy_member(packed, member, out)
    except FileExistsError:
        why = "a file of this name exists"
        raise UsageError(f"cannot write {target}", why=why, hint="another folder") from None
    if entry.sha256 is not None and found != entry.sha256:
        target.unlink()
        source = str(packed.filename)
        raise FormatError(source, where=entry.name, why="it differs from the manifest")
    return target


_BLOCK_BYTES = 1 << 20


class TeaFile(Record, frozen=True, kw_only=True):
    """A file to archive.

    Attributes:
        name: Its path in the archive, with ``/``.
        kind: As in `TeaEntry`.
    """

    path: Path
    name: str
    kind: str


def tea_file(path: Path, name: str) -> TeaFile:
    """Return a file to archive, with what it is.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return TeaFile(path=path, name=name, kind=kind_in(file, name, path.stat().st_size))


def write_tea(
    target: Path, files: Sequence[TeaFile], subjects: Sequence[TeaSubject] = ()
) -> Manifest:
    """Write an archive and return its manifest; a reader sees the whole file or none.

    Texts are compressed; engines and caches, which hardly shrink, are stored as they are.

    Args:
        target: Overwritten if it is there.
    """
    _check_names(files)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(part, "x") as packed:
            manifest = _manifest_of(tuple(_add(packed, file) for file in files), subjects)
            packed.writestr(MANIFEST, encode(manifest), zipfile.ZIP_DEFLATED)
        part.replace(target)
    except OSError as error:
        why = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        raise UsageError(f"cannot write {target}", why=why) from error
    finally:
        if target.parent.is_dir():
            part.unlink(missing_ok=True)
    return manifest


def _manifest_of(entries: tuple[TeaEntry, ...], subjects: Sequence[TeaSubject]) -> Manifest:
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Manifest(
        created=created, enginescope=__version__, subjects=tuple(subjects), files=entries
    )


def _check_names(files: Sequence[TeaFile]) -> None:
    seen: dict[str, Path] = {}
    for file in files:
        if file.name == MANIFEST:
            why = f"an archive has its own {MANIFEST}"
            raise UsageError(f"cannot archive {file.path}", why=why, hint="rename it")
        if file.name in seen:
            why = f"{seen[file.name]} would have the same name in the archive: {file.name}"
            raise UsageError(f"cannot archive {file.path}", why=why, hint="give their folders")
        seen[file.name] = file.path


def _add(packed: zipfile.ZipFile, file: TeaFile) -> TeaEntry:
    info = zipfile.ZipInfo.from_file(file.path, file.name, strict_timestamps=False)
    info.compress_type = zipfile.ZIP_STORED if file.kind in OPAQUE else zipfile.ZIP_DEFLATED
    digest, size = hashlib.sha256(), 0
    with file.path.open("rb") as source, packed.open(info, "w") as out:
        while block := source.read(_BLOCK_BYTES):
            digest.update(block)
            size += len(block)
            out.write(block)
    return TeaEntry(name=file.name, kind=file.kind, size_bytes=size, sha256=digest.hexdigest())


#: Files that an error names.
_SHOWN = 8


class FolderArchive(Record, frozen=True, kw_only=True):
    """A folder whose files are those of its manifest.

    Attributes:
        sha256: Of the manifest, and so of all files.
    """

    manifest: Manifest
    sha256: str


def write_manifest(folder: Path, subjects: Sequence[TeaSubject] = ()) -> FolderArchive:
    """Write the manifest of all files of a folder; packed with zip, the folder is a ``.tea``.

    Raises:
        OSError: A file cannot be read or written.
    """
    entries = tuple(
        TeaEntry(
            name=name,
            kind=tea_file(path, name).kind,
            size_bytes=path.stat().st_size,
            sha256=sha256_of(path),
        )
        for name, path in _files(folder).items()
    )
    manifest = _manifest_of(entries, subjects)
    data = sealed(encode(manifest))
    write_atomic(folder / MANIFEST, data)
    return FolderArchive(manifest=manifest, sha256=hashlib.sha256(data).hexdigest())


def check_folder(folder: Path) -> FolderArchive:
    """Compare every file of a folder with its manifest."""
    source = folder / MANIFEST
    data = read_bytes(source)
    check_seal(data, str(source))
    manifest = parse_manifest(data, str(folder)) if f'"{SEAL}"'.encode() in data else None
    if manifest is None:
        raise FormatError(str(source), why="not the sealed manifest of a folder", hint=_COPY)
    here = _files(folder)
    listed = {entry.name: entry for entry in manifest.files}
    try:
        wrong = [
            *(f"{name} is missing" for name in listed if name not in here),
            *(f"{name} was added" for name in here if name not in listed),
            *(
                f"{name} was changed"
                for name in here
                if name in listed and not _is_same(here[name], listed[name])
            ),
        ]
    except OSError as error:
        why = f"cannot be read: {error.strerror or error}"
        raise FormatError(str(error.filename), why=why) from error
    if wrong:
        more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise FormatError(str(folder), why=", ".join(wrong[:_SHOWN]) + more, hint=_COPY)
    return FolderArchive(manifest=manifest, sha256=hashlib.sha256(data).hexdigest())


_COPY = "copy the folder again from its source"


def _is_same(path: Path, entry: TeaEntry) -> bool:
    if path.is_symlink() or path.stat().st_size != entry.size_bytes:
        return False
    return sha256_of(path) == entry.sha256


def _files(folder: Path) -> dict[str, Path]:
    """Return what is in a folder and below but folders and the manifest: name -> path."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if (path.is_symlink() or not path.is_dir()) and path != folder / MANIFEST
    }
