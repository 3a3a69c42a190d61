"""One sitting of a suite on other machines: what comes back is kept as it comes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from zipfile import ZipFile

from enginescope.cli.options import note
from enginescope.cli.suite_progress import SuiteProgress
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.core.errors import StoreError
from enginescope.model.suite import Cell, CellRow, CellStatus, SuitePlan
from enginescope.runner.fleet.errand import (
    Fleet,
    FleetWatch,
    Lost,
    Returned,
    unpacked_returned,
)
from enginescope.store.archive import Store
from enginescope.store.suite_folder import SuiteFolder


class FleetSitting:
    """Sends cells of a plan to machines, and keeps their rows and runs."""

    def __init__(self, plan: SuitePlan, folder: SuiteFolder, store: Store) -> None:
        self._plan, self._folder, self._store = plan, folder, store
        self._started: dict[str, str] = {}

    def run(self, todo: Sequence[Cell], fleet: Fleet, *, quiet: bool) -> None:
        """Run cells; those that have come back stay done, however this ends."""
        before, done = len(self._plan.cells) - len(todo), 0
        lanes = {one.key: number for number, one in enumerate(todo)}
        progress = SuiteProgress(len(todo), before, lanes=len(todo), quiet=quiet)

        def started(cell: Cell, place: str) -> None:
            self._started[cell.key] = now()
            progress.started(cell, lanes[cell.key])
            if not quiet:
                note(f"{cell.label}: on {place}")

        def ended(row: CellRow) -> None:
            nonlocal done
            self._folder.keep(row)
            done += 1
            progress.ended(row, lanes[row.cell.key])

        watch = FleetWatch(
            started=started,
            returned=lambda _, returned: ended(kept(returned, self._plan, self._store)),
            lost=lambda one: ended(row_of(one, self._started.get(one.cell.key, now()))),
            again=lambda cell, why: note(f"{cell.label}: {why}; it is done once more"),
        )
        stands = saying_what_stands(lambda: standing(before + done, self._plan))
        with stands, ending_in_order(), progress:
            fleet.run(todo, self._plan.command, watch)


def standing(done: int, plan: SuitePlan) -> str:
    """Return what a suite that is interrupted has come to."""
    return (
        f"{done:,} of {len(plan.cells):,} cells are done, and the same command goes on from there"
    )


def row_of(lost: Lost, started: str) -> CellRow:
    """Return the row of a cell of which nothing came back.

    Parameters
    ----------
    started : str
        UTC, ISO 8601.
    """
    return CellRow(
        cell=lost.cell,
        status=CellStatus.CRASHED if lost.is_fault else CellStatus.UNSUPPORTED,
        reason=lost.reason,
        hint=lost.hint,
        started=started,
        ended=now(),
        attempts=lost.attempts,
    )


def taken(data: bytes, plan: SuitePlan, store: Store) -> CellRow:
    """Put the runs of what came back, as bytes, into the store; return its row.

    Raises
    ------
    FormatError
        It is of another version of enginescope, or damaged.
    """
    return kept(unpacked_returned(data), plan, store)


def kept(returned: Returned, plan: SuitePlan, store: Store) -> CellRow:
    """Put the runs of what came back into the store, and return its row.

    A run that is there already was taken in before a kill.
    """
    with tempfile.TemporaryDirectory(prefix="enginescope-returned-") as made:
        for number, data in enumerate(returned.runs):
            file = Path(made) / f"{number}.zip"
            file.write_bytes(data)
            if not _is_stored(file, store):
                store.tag(store.import_zip(file).id, plan.suite.name)
    return returned.row


def _is_stored(file: Path, store: Store) -> bool:
    """Whether a store has the run in a zip file, which is its one top folder."""
    with ZipFile(file) as packed:
        run_id = packed.namelist()[0].partition("/")[0]
    try:
        return store.id_of(run_id) == run_id
    except StoreError:
        return False


def now() -> str:
    """Return the time as rows have it: UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
