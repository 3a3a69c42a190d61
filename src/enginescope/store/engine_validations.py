"""Validations of engines beside the runs: one entry for each engine and reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.run.passport import EngineValidation
from enginescope.store.machine_records import SCHEMA, MachineRecords

FILE = "engine-validations.json"


class _Document(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    validations: tuple[EngineValidation, ...] = ()


_RECORDS: MachineRecords[EngineValidation] = MachineRecords(
    FILE, _Document, "validations", lambda one: (one.engine_sha256, one.reference)
)


def usable_validations(folder: Path, say: Callable[[str], None]) -> tuple[EngineValidation, ...]:
    """Return the validations in a store's `folder`; none if the file cannot be read.

    Args:
        say: Is told why they are skipped.
    """
    return _RECORDS.usable(folder, say)


def record_validation(folder: Path, validation: EngineValidation) -> Path:
    """Put `validation` in the place of an older one of the same engine and reference.

    Returns:
        The file.
    """
    return _RECORDS.record(folder, validation)
