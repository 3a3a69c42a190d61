"""Run one cell of a suite: validate it, measure it, and return its row."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import datetime, timezone

from enginescope.analysis.suites.suite_row import CellChecked, CellTime, cell_row
from enginescope.core.errors import EnginescopeError, StoreError
from enginescope.core.record import Record
from enginescope.records.run.job import Watcher
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import Cell, CellRow, CellStatus
from enginescope.runner.environment_fingerprint import environment_fingerprint
from enginescope.runner.session import Sink
from enginescope.runner.suites.suite_run import measure_cell
from enginescope.services.suites.cell_outputs import ReferenceCache


class CellContext(Record, frozen=True, kw_only=True):
    """Settings that all cells of a session share.

    Attributes:
        sink: Gets each run as soon as it has ended.
        command: The command line to record.
        fingerprint: Of this Python; ``None``: taken for each cell.
        references: Reference outputs of former cells.
    """

    sink: Sink
    command: str | None = None
    fingerprint: Mapping[str, str] | None = None
    watcher: Watcher = Watcher()
    references: ReferenceCache | None = None


def run_cell(cell: Cell, context: CellContext) -> CellRow:
    """Validate and measure a cell as its mode says, each in processes of its own.

    Every failure becomes a row, except a store that cannot be written and a signal to exit.
    """
    started = now()
    versions = context.fingerprint
    if versions is None:
        versions = environment_fingerprint(len(cell.job.conditions.pinned_cores) or None)
    checked: CellChecked | None = None
    runs: tuple[Run, ...] = ()
    attempts = 1
    try:
        if cell.mode != "benchmark":
            from enginescope.services.suites.cell_outputs import checked_cell

            checked = checked_cell(cell, context.watcher, context.references)
        if checked is None or (cell.mode == "both" and checked.status is CellStatus.OK):
            runs, attempts = measure_cell(
                cell, context.sink, command=context.command, watcher=context.watcher
            )
        return cell_row(
            cell, runs, CellTime(started=started, attempts=attempts, versions=versions), checked
        )
    except StoreError:  # every further cell would fail alike
        raise
    except EnginescopeError as error:
        failed = CellChecked(status=CellStatus.FAILED, reason=str(error), hint=error.hint)
    except Exception as error:  # noqa: BLE001 - a bug in one cell does not stop the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        failed = CellChecked(
            status=CellStatus.FAILED,
            reason=f"a bug of enginescope: {type(error).__name__}: {error}",
            hint=f"please report it: {where.name}, line {where.lineno} of {where.filename}",
        )
    time = CellTime(started=started, attempts=attempts, versions=versions)
    return cell_row(cell, (), time, failed)


def now() -> str:
    """Return the time as rows have it: UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
