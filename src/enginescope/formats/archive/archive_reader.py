"""Read archives of engines: ours with a manifest, trex's ``.tea`` files, and each file's kind."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import decode
from enginescope.core.packed_files import Member, copy_member, opened_zip, safe_members
from enginescope.core.record import Record
from enginescope.formats.importing.artifact_kinds import (
    HEAD_BYTES,
    ArtifactKind,
    kind_of,
    may_be_known,
)
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
    if may_be_known(head, path.name):
        return None
    if is_engine_file(head, suffix):
        return "engine"
    return "log" if suffix == ".log" else "other"


def kind_in(file: IO[bytes], name: str, size_bytes: int) -> str:
    """Return what an open file is; ``other`` where that is not known."""
    head = file.read(HEAD_BYTES)
    kind = kind_by_name(name, head)
    if kind is None and size_bytes <= MOST_TEXT_BYTES:
        known = kind_of(head + file.read(), PurePosixPath(name).name)
        kind = None if known is ArtifactKind.UNKNOWN else known.value
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
            entries.append(listed.get(name) or _entry(packed, member))
    names = {entry.name for entry in entries}
    missing = [one for one in listed if one not in names]
    if missing:
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
    contents = read_tea(file)
    chosen = {entry.name: entry for entry in contents.entries if wanted(entry)}
    with opened_zip(file, expected=EXPECTED) as packed:
        members = [
            member for member in safe_members(packed, str(file)) if member.path.as_posix() in chosen
        ]
        _check_space(members, file, folder)
        return tuple(
            _extract(packed, member, folder, chosen[member.path.as_posix()]) for member in members
        )


def check_tea(file: Path) -> tuple[str, ...]:
    """Return the files of an archive that are not what its manifest says; reads all of it."""
    contents = read_tea(file)
    listed = {entry.name: entry.sha256 for entry in contents.entries}
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


def _entry(packed: zipfile.ZipFile, member: Member) -> TeaEntry:
    name, info = member.path.as_posix(), member.info
    with packed.open(info) as source:
        kind = kind_in(source, name, info.file_size)
    return TeaEntry(name=name, kind=kind, size_bytes=info.file_size)


def _check_space(members: list[Member], file: Path, folder: Path) -> None:
    there = next(one for one in (folder, *folder.absolute().parents) if one.is_dir())
    needed, free = sum(member.info.file_size for member in members), shutil.disk_usage(there).free
    if needed > free:
        why = f"it needs {needed:,} bytes, {free:,} are free in {there}"
        raise UsageError(f"cannot unpack {file}", why=why)


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
