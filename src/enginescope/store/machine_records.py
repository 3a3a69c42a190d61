"""What was measured of a machine, beside the runs: one JSON file for each kind of record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from enginescope.core.errors import FormatError, StoreError, os_errors_as
from enginescope.core.jsonio import decode, encode, read_stored, write_atomic
from enginescope.core.record import Record
from enginescope.records.run.passport import EngineValidation
from enginescope.records.verdict.lottery import BuildSpread
from enginescope.records.verdict.noise import NoiseFloor, SelfTest
from enginescope.store.run_names import locked

#: Version of the files' shape.
SCHEMA = 1

T = TypeVar("T", bound=Record)


class MachineRecords(Generic[T]):
    """A file of a store with one entry for each key.

    Args:
        file: Name of the file.
        document: Record of the whole file, with ``schema_version`` and `field`.
        field: Attribute of `document` that has the entries.
        key: An entry takes the place of an older one of the same key.
    """

    def __init__(
        self, file: str, document: type[Any], field: str, key: Callable[[T], object]
    ) -> None:
        self.file, self._document, self._field, self._key = file, document, field, key

    def usable(self, folder: Path, say: Callable[[str], None]) -> tuple[T, ...]:
        """Return the entries in a store's `folder`; if it cannot read them, `say` is told why."""
        try:
            return self.read(folder)
        except (FormatError, StoreError) as error:
            say(f"{self.file.removesuffix('.json').replace('-', ' ')} are skipped: {error}")
            return ()

    def read(self, folder: Path) -> tuple[T, ...]:
        """Return the entries in a store's `folder`, the newest last."""
        path = folder / self.file
        if not path.exists():
            return ()
        found = decode(read_stored(path), self._document, source=str(path))
        if found.schema_version > SCHEMA:
            known = f"this enginescope knows up to {SCHEMA}"
            why = f"it is of version {found.schema_version}, {known}"
            raise StoreError(str(path), why=why, hint="install a newer enginescope")
        entries: tuple[T, ...] = getattr(found, self._field)
        return entries

    def record(self, folder: Path, entry: T) -> Path:
        """Put `entry` in the place of an older one of its key, and return the file."""
        path = folder / self.file
        with locked(folder, Path(self.file).stem):
            kept = [one for one in self.read(folder) if self._key(one) != self._key(entry)]
            whole = self._document(**{self._field: (*kept, entry)})
            with os_errors_as(StoreError, f"cannot write {path}"):
                write_atomic(path, encode(whole))
        return path


class _Floors(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    floors: tuple[NoiseFloor, ...] = ()


class _SelfTests(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    tests: tuple[SelfTest, ...] = ()


class _Spreads(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    spreads: tuple[BuildSpread, ...] = ()


class _Validations(Record, frozen=True, kw_only=True):
    schema_version: int = SCHEMA
    validations: tuple[EngineValidation, ...] = ()


def _machine_key(entry: NoiseFloor | SelfTest) -> object:
    return entry.environment, entry.backend, entry.model


def _build_key(spread: BuildSpread) -> object:
    return (
        spread.environment,
        spread.backend,
        spread.precision,
        sorted(spread.options.items()),
        spread.model,
        spread.timing_cache_sha256,
    )


FLOORS: MachineRecords[NoiseFloor] = MachineRecords(
    "noise-floors.json", _Floors, "floors", _machine_key
)
SELF_TESTS: MachineRecords[SelfTest] = MachineRecords(
    "self-tests.json", _SelfTests, "tests", _machine_key
)
#: Variation between builds.
SPREADS: MachineRecords[BuildSpread] = MachineRecords(
    "build-spreads.json", _Spreads, "spreads", _build_key
)
VALIDATIONS: MachineRecords[EngineValidation] = MachineRecords(
    "engine-validations.json",
    _Validations,
    "validations",
    lambda one: (one.engine_sha256, one.reference),
)
