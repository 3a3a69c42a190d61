"""What an archive of an engine says of itself."""

from __future__ import annotations

import msgspec

from enginescope.core.errors import FormatError
from enginescope.core.jsonio import decode
from enginescope.core.record import Record
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
    """Return a manifest; ``None`` for a file of its name that is none of ours.

    Raises:
        FormatError: It is damaged, or of a newer enginescope.
    """
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
