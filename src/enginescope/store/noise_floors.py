"""Noise floors beside the runs: one JSON file, one entry for each machine, backend and model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from enginescope.core.errors import FormatError, StoreError
from enginescope.core.jsonio import decode, encode, read_bytes, write_atomic
from enginescope.core.record import Record
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.store.run_names import locked

FILE = "noise-floors.json"
#: Version of the file's shape.
SCHEMA = 1


class _Document(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    floors: tuple[NoiseFloor, ...] = ()


def usable_floors(folder: Path, say: Callable[[str], None]) -> tuple[NoiseFloor, ...]:
    """Return the floors recorded in a store's `folder`; none if the file cannot be read.

    Args:
        say: Is told why the floors are left out.
    """
    try:
        return read_floors(folder)
    except (FormatError, StoreError) as error:
        say(f"noise floors are skipped: {error}")
        return ()


def read_floors(folder: Path) -> tuple[NoiseFloor, ...]:
    """Return the floors recorded in a store's `folder`, the newest last.

    Raises:
        FormatError: The file cannot be read.
        StoreError: A newer enginescope wrote it.
    """
    path = folder / FILE
    if not path.exists():
        return ()
    found = decode(read_bytes(path), _Document, source=str(path))
    if found.schema_version > SCHEMA:
        raise StoreError(
            str(path),
            why=f"it is of version {found.schema_version}, this enginescope knows up to {SCHEMA}",
            hint="install a newer enginescope",
        )
    return found.floors


def record_floor(folder: Path, floor: NoiseFloor) -> Path:
    """Put `floor` in the place of an older one of the same machine, backend and model.

    Returns:
        The file.

    Raises:
        FormatError, StoreError: The file cannot be read or written.
    """
    path = folder / FILE
    with locked(folder, "noise"):
        kept = [one for one in read_floors(folder) if _key(one) != _key(floor)]
        try:
            write_atomic(path, encode(_Document(floors=(*kept, floor))))
        except OSError as error:
            raise StoreError(f"cannot write {path}", why=error.strerror or str(error)) from error
    return path


def _key(floor: NoiseFloor) -> tuple[object, ...]:
    return floor.environment, floor.backend, floor.model
