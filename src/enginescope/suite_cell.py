"""One cell of a suite, from its answers to its row: what a lane or a machine of a fleet does."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import datetime, timezone

from enginescope.analysis.suite_row import CellChecked, CellTime, cell_row
from enginescope.core.errors import EnginescopeError, StoreError
from enginescope.core.record import Record
from enginescope.model.run import Run
from enginescope.model.suite import Cell, CellRow, CellStatus
from enginescope.runner.session import Sink, Watcher
from enginescope.runner.suite_cell import measure_cell
from enginescope.runner.suite_resume import conditions_here
from enginescope.suite_reference import ReferenceAnswers


class CellContext(Record, frozen=True, kw_only=True):
    """What all cells of a sitting have in common.

    Attributes
    ----------
    sink : callable
        Gets each run as soon as it has ended.
    command : str or None
        The command line to record.
    here : mapping or None
        Of `conditions_here`; ``None``: asked where the cell is done.
    references : ReferenceAnswers or None
        What references have answered to the cells before.
    """

    sink: Sink
    command: str | None = None
    here: Mapping[str, str] | None = None
    watcher: Watcher = Watcher()
    references: ReferenceAnswers | None = None


def do_cell(cell: Cell, context: CellContext) -> CellRow:
    """Validate and measure a cell as its mode says, each in processes of its own.

    Whatever happens is a row, but for a store that cannot be written and for being told to end.
    """
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    cores = len(cell.job.conditions.pinned_cores) or None
    here = context.here if context.here is not None else conditions_here(cores)
    checked: CellChecked | None = None
    runs: tuple[Run, ...] = ()
    attempts = 1
    try:
        if cell.mode != "benchmark":
            from enginescope.suite_answers import checked_cell

            checked = checked_cell(cell, context.watcher, context.references)
        if cell.mode == "benchmark" or (cell.mode == "both" and _is_right(checked)):
            runs, attempts = measure_cell(
                cell, context.sink, command=context.command, watcher=context.watcher
            )
        return cell_row(
            cell, runs, CellTime(started=started, attempts=attempts, versions=here), checked
        )
    except StoreError:  # every further cell would fail alike
        raise
    except EnginescopeError as error:
        failed = CellChecked(status=CellStatus.FAILED, reason=str(error), hint=error.hint)
    except Exception as error:  # noqa: BLE001 - a bug in one cell leaves the others their turn
        where = traceback.extract_tb(error.__traceback__)[-1]
        failed = CellChecked(
            status=CellStatus.FAILED,
            reason=f"a bug of enginescope: {type(error).__name__}: {error}",
            hint=f"please report it: {where.name}, line {where.lineno} of {where.filename}",
        )
    return cell_row(cell, (), CellTime(started=started, attempts=attempts, versions=here), failed)


def _is_right(checked: CellChecked | None) -> bool:
    return checked is not None and checked.status is CellStatus.OK
