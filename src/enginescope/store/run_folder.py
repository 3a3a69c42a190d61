"""One run as one folder: ``run.json``, its arrays, its artefacts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from enginescope.core.digest import sha256_of
from enginescope.core.errors import FormatError, StoreError
from enginescope.core.jsonio import encode, read_bytes, write_atomic
from enginescope.core.sidecar import load_record, save_record
from enginescope.model.notice import Notice
from enginescope.model.run import SCHEMA_VERSION, Artifact, Run
from enginescope.store.migrate import migrated

DOCUMENT = "run.json"
ARTIFACTS = "artifacts"


def write_run(run: Run, folder: Path) -> Run:
    """Write `run` and copies of its artefacts into `folder`, and return it as written.

    Artefacts that can no longer be read keep their old path, and the run gets a notice.
    """
    kept, lost = [], []
    for artifact in run.artifacts:
        copied = _copy(artifact, folder)
        kept.append(copied or artifact)
        if copied is None:
            lost.append(artifact.path)
    notices = run.notices
    if lost:
        message = f"Artefacts could not be copied into the store: {', '.join(lost)}."
        notices += (Notice(code="W-ARTIFACT-LOST", message=message, evidence={"paths": lost}),)
    stored = msgspec.structs.replace(run, artifacts=tuple(kept), notices=notices)
    save_record(stored, folder, DOCUMENT)
    return stored


def read_run(folder: Path) -> Run:
    """Return the run in `folder`, brought up to the current schema.

    Raises
    ------
    StoreError
        It was written by a newer enginescope.
    FormatError
        It is missing or damaged; names the file and the place.
    """
    path = folder / DOCUMENT
    try:
        document = msgspec.json.decode(read_bytes(path))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(str(path), why=f"not valid JSON ({error})") from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise FormatError(str(path), why="no schema_version", expected="a stored run")
    if version > SCHEMA_VERSION:
        raise StoreError(
            str(path),
            why=f"it has schema {version}, this enginescope reads up to {SCHEMA_VERSION}",
            hint="a newer enginescope",
        )
    if version < SCHEMA_VERSION:
        write_atomic(path, encode(migrated(document, version)))
    return load_record(Run, folder, DOCUMENT)


def rewrite(folder: Path, **changes: Any) -> Run:
    """Change fields of a stored run that holds no other arrays; arrays stay as they are."""
    path = folder / DOCUMENT
    document = msgspec.json.decode(read_bytes(path))
    document.update({key: msgspec.to_builtins(value) for key, value in changes.items()})
    write_atomic(path, encode(document))
    return read_run(folder)


def _copy(artifact: Artifact, folder: Path) -> Artifact | None:
    source = Path(artifact.path)
    if not source.is_file():
        return None
    target = _unused(folder / ARTIFACTS / source.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, target)
    except OSError:  # the notice on the run says so
        return None
    return msgspec.structs.replace(
        artifact,
        path=f"{ARTIFACTS}/{target.name}",
        sha256=sha256_of(target),
        size_bytes=target.stat().st_size,
    )


def _unused(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate
