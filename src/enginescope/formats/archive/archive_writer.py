"""Writing an archive of an engine."""

from __future__ import annotations

import hashlib
import secrets
import zipfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from enginescope._version import __version__
from enginescope.core.errors import UsageError
from enginescope.core.jsonio import encode
from enginescope.core.record import Record
from enginescope.formats.archive.archive_reader import (
    MANIFEST,
    MOST_TEXT_BYTES,
    OPAQUE,
    Manifest,
    TeaEntry,
    TeaSubject,
    kind_by_content,
    kind_by_name,
)
from enginescope.formats.importing.artifact_kinds import HEAD_BYTES

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
        head = file.read(HEAD_BYTES)
        kind = kind_by_name(name, head)
        if kind is None and path.stat().st_size <= MOST_TEXT_BYTES:
            kind = kind_by_content(head + file.read(), name)
    return TeaFile(path=path, name=name, kind=kind or "other")


def write_tea(
    target: Path, files: Sequence[TeaFile], subjects: Sequence[TeaSubject] = ()
) -> Manifest:
    """Write an archive and return its manifest; a reader sees the whole file or none.

    Texts are compressed; engines and caches, which hardly shrink, are stored as they are.

    Args:
        target: Overwritten if it is there.

    Raises:
        UsageError: Two files would have one name there, or one cannot be read or written.
    """
    _check_names(files)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(part, "x") as packed:
            entries = tuple(_add(packed, file) for file in files)
            manifest = Manifest(
                created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                enginescope=__version__,
                subjects=tuple(subjects),
                files=entries,
            )
            packed.writestr(MANIFEST, encode(manifest), zipfile.ZIP_DEFLATED)
        part.replace(target)
    except OSError as error:
        why = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        raise UsageError(f"cannot write {target}", why=why) from error
    finally:
        if target.parent.is_dir():
            part.unlink(missing_ok=True)
    return manifest


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
