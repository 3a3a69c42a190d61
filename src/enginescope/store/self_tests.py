"""Self-tests beside the runs: one entry for each machine, backend and model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from enginescope.core.record import Record
from enginescope.records.verdict.self_test import SelfTest
from enginescope.store.machine_records import SCHEMA, MachineRecords

FILE = "self-tests.json"


class _Document(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    tests: tuple[SelfTest, ...] = ()


_RECORDS: MachineRecords[SelfTest] = MachineRecords(
    FILE, _Document, "tests", lambda one: (one.environment, one.backend, one.model)
)


def usable_self_tests(folder: Path, say: Callable[[str], None]) -> tuple[SelfTest, ...]:
    """Return the self-tests in a store's `folder`; none if the file cannot be read.

    Args:
        say: Is told why they are skipped.
    """
    return _RECORDS.usable(folder, say)


def record_self_test(folder: Path, test: SelfTest) -> Path:
    """Put `test` in the place of an older one of the same machine, backend and model.

    Returns:
        The file.

    Raises:
        FormatError, StoreError: The file cannot be read or written.
    """
    return _RECORDS.record(folder, test)
