"""Noise floors beside the runs: one entry for each machine, backend and model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.verdict.noise_floor import NoiseFloor
from enginescope.store.machine_records import SCHEMA, MachineRecords

FILE = "noise-floors.json"


class _Document(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    floors: tuple[NoiseFloor, ...] = ()


_RECORDS: MachineRecords[NoiseFloor] = MachineRecords(
    FILE, _Document, "floors", lambda one: (one.environment, one.backend, one.model)
)


def usable_floors(folder: Path, say: Callable[[str], None]) -> tuple[NoiseFloor, ...]:
    """Return the floors recorded in a store's `folder`; none if the file cannot be read.

    Args:
        say: Is told why the floors are skipped.
    """
    return _RECORDS.usable(folder, say)


def read_floors(folder: Path) -> tuple[NoiseFloor, ...]:
    """Return the floors recorded in a store's `folder`, the newest last.

    Raises:
        FormatError: The file cannot be read.
        StoreError: A newer enginescope wrote it.
    """
    return _RECORDS.read(folder)


def record_floor(folder: Path, floor: NoiseFloor) -> Path:
    """Put `floor` in the place of an older one of the same machine, backend and model.

    Returns:
        The file.

    Raises:
        FormatError, StoreError: The file cannot be read or written.
    """
    return _RECORDS.record(folder, floor)
