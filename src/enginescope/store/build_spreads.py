"""Variation between builds beside the runs: one entry for each machine, backend and model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.verdict.lottery import BuildSpread
from enginescope.store.machine_records import SCHEMA, MachineRecords

FILE = "build-spreads.json"


class _Document(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    spreads: tuple[BuildSpread, ...] = ()


def _key(spread: BuildSpread) -> object:
    return (
        spread.environment,
        spread.backend,
        spread.precision,
        sorted(spread.options.items()),
        spread.model,
        spread.timing_cache_sha256,
    )


_RECORDS: MachineRecords[BuildSpread] = MachineRecords(FILE, _Document, "spreads", _key)


def usable_spreads(folder: Path, say: Callable[[str], None]) -> tuple[BuildSpread, ...]:
    """Return the spreads recorded in a store's `folder`; none if the file cannot be read.

    Args:
        say: Is told why they are skipped.
    """
    return _RECORDS.usable(folder, say)


def record_spread(folder: Path, spread: BuildSpread) -> Path:
    """Put `spread` in the place of an older one of the same key; return the file.

    Raises:
        FormatError, StoreError: The file cannot be read or written.
    """
    return _RECORDS.record(folder, spread)
