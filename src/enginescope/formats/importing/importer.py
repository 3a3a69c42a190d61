"""Artifacts that other tools left, as runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from enginescope.core.errors import FormatError, UsageError
from enginescope.core.jsonio import read_bytes
from enginescope.core.record import Record
from enginescope.formats.importing.import_assembly import assemble
from enginescope.formats.importing.import_grouping import (
    HEAD_BYTES,
    ArtifactKind,
    Item,
    group_items,
    may_be_known,
    recognise,
)
from enginescope.formats.trtexec.trtexec_log import parse_trtexec_log
from enginescope.records.run.run import Run


class Imported(Record, frozen=True, kw_only=True, eq=False):
    """What an import found.

    Attributes:
        runs: One for each engine; their artifacts are the files where they lie.
        skipped: Files that are in no run, and why.
    """

    runs: tuple[Run, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def import_artifacts(paths: Sequence[Path]) -> Imported:
    """Return the runs in files and folders, one for each engine.

    Args:
        paths: Folders are walked, hidden entries left out. Files are known by their content.

    Raises:
        UsageError: A path does not exist, or no file in any of them could be used.
    """
    items: list[Item] = []
    skipped: list[tuple[str, str]] = []
    for path in _files(paths):
        found = _item(path)
        if isinstance(found, Item):
            items.append(found)
        else:
            skipped.append((str(path), found))
    runs = []
    for group in group_items(items):
        run, damaged = assemble(group)
        if run is None:
            skipped += [(str(one.path), one.reason) for one in damaged]
        else:
            runs.append(run)
    if not runs:
        raise _nothing(paths, skipped)
    return Imported(runs=tuple(runs), skipped=tuple(skipped))


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Every file once, in the order of the paths and sorted within a folder."""
    seen: set[str] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="give files or folders to import")
        for one in _walk(path) if path.is_dir() else [path]:
            key = os.path.realpath(one)
            if key not in seen:
                seen.add(key)
                yield one


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(root) / name


def _item(path: Path) -> Item | str:
    """The file as something to import, or why it is not."""
    if not str(path).isprintable():
        return "its name cannot be stored"
    try:
        if not path.is_file():
            return "not a regular file"
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head.startswith(b"\x1f\x8b"):
            return "compressed with gzip: unpack it first"
        if not may_be_known(head, path.name):
            return "neither JSON nor a log of trtexec"
        data = head if len(head) < HEAD_BYTES else read_bytes(path)
        return _recognised(path, data)
    except OSError as error:
        return error.strerror or str(error)
    except FormatError as error:
        return str(error)


def _recognised(path: Path, data: bytes) -> Item | str:
    found = recognise(data, path.name)
    if found.kind is ArtifactKind.UNKNOWN:
        return found.reason or "not recognized"
    identity = Item(
        path=path,
        kind=found.kind,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        document=found.document,
    )
    if found.kind is not ArtifactKind.TRTEXEC_LOG:
        return identity
    log, notices = parse_trtexec_log(data, path.name)
    return msgspec.structs.replace(identity, log=log, notices=notices)


def _nothing(paths: Sequence[Path], skipped: Sequence[tuple[str, str]]) -> UsageError:
    where = ", ".join(str(path) for path in paths)
    why = f"{skipped[0][0]}: {skipped[0][1]}" if skipped else "there are no files"
    more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
    return UsageError(
        f"nothing that can be read in {where}",
        why=why + more,
        hint="trtexec's exported JSON and logs, trex's metadata and ONNX Runtime profiles are read",
    )
