"""Suites in a database, row by row, within the caller's transaction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import sqlalchemy as sa

from enginescope.core.errors import StoreError
from enginescope.core.jsonio import decode, encode, write_atomic
from enginescope.records.suite.suite import CellRow, SuitePlan
from enginescope.records.suite.suite_change import Lease, SuiteChange
from enginescope.store.sql.database import SUITE_ROWS, SUITES
from enginescope.store.suite_folder import SuiteFolder, rows_in, suite_at, unknown_suite
from enginescope.store.suite_lease import SuiteRunsError, next_lease

#: In a copy of a suite: the number up to which it has the database's rows.
_FETCHED = ".fetched"


def put_suite(connection: sa.Connection, name: str, change: SuiteChange) -> None:
    """Write parts of a suite; of a cell, the row that ended last stays.

    Raises:
        SuiteRunsError: Another machine has the lease.
        StoreError: The database has no plan of the suite, and gets none.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE suites IN EXCLUSIVE MODE")
    stored = connection.execute(sa.select(SUITES.c.number).where(SUITES.c.name == name)).scalar()
    if stored is None and change.plan is None:
        raise unknown_suite(name)
    now = _clock(connection)
    values: dict[str, object] = {}
    if change.claim is not None:
        lease = next_lease(suite_lease(connection, name), change.claim, now, name)
        values |= msgspec.structs.asdict(lease)
    if change.plan is not None or change.rows:
        # a suite that was deleted and begun again has another number than before
        values["number"] = number = max((stored or 0) + 1, int(now * 1000))
        _put_rows(connection, name, change.rows, number)
    if change.plan is not None:
        values["plan"] = encode(change.plan)
    if stored is None:
        connection.execute(SUITES.insert().values(name=name, **values))
    elif values:
        connection.execute(SUITES.update().where(SUITES.c.name == name).values(**values))


def suite_lease(connection: sa.Connection, name: str) -> Lease | None:
    """Return the lease of a suite; ``None``: there was none."""
    columns = [SUITES.c[field] for field in Lease.__struct_fields__]
    query = sa.select(*columns).where(SUITES.c.name == name, SUITES.c.owner.is_not(None))
    lease = connection.execute(query).mappings().first()
    return Lease(**lease) if lease is not None else None


def suite_ended(connection: sa.Connection, name: str) -> dict[str, str]:
    """Return when the cells of a suite ended, by their keys."""
    query = sa.select(SUITE_ROWS.c.cell, SUITE_ROWS.c.ended).where(SUITE_ROWS.c.suite == name)
    return {cell: ended for cell, ended in connection.execute(query)}  # noqa: C416 - rows


def fetch_suites(connection: sa.Connection, home: Path) -> None:
    """Bring ``home/suites`` up to what the database has; rows that only it has stay.

    Raises:
        StoreError: The folder cannot be written, or a name leads out of it.
    """
    for name, number in connection.execute(sa.select(SUITES.c.name, SUITES.c.number)).all():
        folder = suite_at(home, name)
        if number != _fetched(folder):
            with suppress(SuiteRunsError), folder.held():  # one that runs here is up to date
                _fetch(connection, folder, name)


def _fetch(connection: sa.Connection, folder: SuiteFolder, name: str) -> None:
    query = sa.select(SUITES.c.plan, SUITES.c.number).where(SUITES.c.name == name)
    plan, number = connection.execute(query).one()
    rows = sa.select(SUITE_ROWS.c.data).where(
        SUITE_ROWS.c.suite == name, SUITE_ROWS.c.number > _fetched(folder)
    )
    lines = b"\n".join(connection.execute(rows.order_by(SUITE_ROWS.c.number)).scalars())
    folder.put(
        SuiteChange(
            plan=decode(plan, SuitePlan, source=f"suite {name}"), rows=tuple(rows_in(lines))
        )
    )
    try:
        write_atomic(folder.path / _FETCHED, str(number).encode())
    except OSError as error:
        raise StoreError(f"cannot write {folder.path}", why=str(error)) from error


def _fetched(folder: SuiteFolder) -> int:
    try:
        return int((folder.path / _FETCHED).read_text()) if folder.exists else 0
    except (OSError, ValueError):
        return 0


def _put_rows(connection: sa.Connection, suite: str, rows: Sequence[CellRow], number: int) -> None:
    stored = suite_ended(connection, suite) if rows else {}
    newer = [row for row in rows if row.ended >= stored.get(row.cell.key, "")]
    for row in newer:
        table = SUITE_ROWS.c
        connection.execute(
            SUITE_ROWS.delete().where(table.suite == suite, table.cell == row.cell.key)
        )
        values = {"suite": suite, "cell": row.cell.key, "number": number, "ended": row.ended}
        connection.execute(SUITE_ROWS.insert().values(**values, data=msgspec.json.encode(row)))


def _clock(connection: sa.Connection) -> float:
    """Return the time of the database: Unix time, s. Clocks of machines differ."""
    if connection.dialect.name == "postgresql":
        query = sa.select(sa.func.extract("epoch", sa.func.clock_timestamp()))
        return float(connection.execute(query).scalar_one())
    return time.time()
