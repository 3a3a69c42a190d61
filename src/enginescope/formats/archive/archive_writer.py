"""Writing an archive of an engine.

It may be a folder: the manifest of a ``.tea`` over every file of it, sealed.
"""

from __future__ import annotations

import hashlib
import secrets
import zipfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from enginescope._version import __version__
from enginescope.core.digest import sha256_of
from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import encode, read_bytes, write_atomic
from enginescope.core.record import Record
from enginescope.core.sidecar import SEAL, check_seal, sealed
from enginescope.formats.archive.archive_reader import (
    MANIFEST,
    OPAQUE,
    Manifest,
    TeaEntry,
    TeaSubject,
    kind_in,
    parse_manifest,
)

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
            entries = tuple(_add(packed, file) for file in files)
            manifest = _manifest_of(entries, subjects)
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
    return Manifest(
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        enginescope=__version__,
        subjects=tuple(subjects),
        files=entries,
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
    is_dense = file.kind in OPAQUE
    info.compress_type = zipfile.ZIP_STORED if is_dense else zipfile.ZIP_DEFLATED
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
            *(f"{name} was changed" for name in here if not _is_same(here, listed, name)),
        ]
    except OSError as error:
        why = f"cannot be read: {error.strerror or error}"
        raise FormatError(str(error.filename), why=why) from error
    if wrong:
        more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise FormatError(str(folder), why=", ".join(wrong[:_SHOWN]) + more, hint=_COPY)
    return FolderArchive(manifest=manifest, sha256=hashlib.sha256(data).hexdigest())


_COPY = "copy the folder again from its source"


def _is_same(here: dict[str, Path], listed: dict[str, TeaEntry], name: str) -> bool:
    """Whether a file is as its entry says; a file without entry is added, not changed."""
    entry, path = listed.get(name), here[name]
    if entry is None:
        return True
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
