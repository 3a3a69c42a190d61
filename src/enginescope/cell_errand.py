"""A cell done on the machine that it was sent to.

``python -m enginescope.cell_errand ERRAND RETURNED`` reads the one file and writes the other; with
a third word, ``attended``, it ends as soon as its standard input does. Ray and Slurm call
`do_errand`. Whatever happens inside the cell is a row that goes back.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
from datetime import datetime, timezone
from pathlib import Path

from msgspec.structs import replace

from enginescope.core.digest import sha256_of
from enginescope.model.run import Run
from enginescope.model.suite import Cell, CellRow, CellStatus, Needs
from enginescope.runner.fleet.errand import Returned, packed_returned, unpacked_errand
from enginescope.store.archive import Store
from enginescope.suite_cell import CellContext, do_cell


def do_errand(data: bytes) -> bytes:
    """Do the cell of an errand here; return its row and runs.

    Raises
    ------
    FormatError
        The errand is of another version of enginescope.
    """
    errand = unpacked_errand(data)
    other = _other_than_sent(errand.cell)
    if other is not None:
        return packed_returned(Returned(row=other))
    with tempfile.TemporaryDirectory(prefix="enginescope-cell-") as made:
        store = Store(Path(made) / "store")
        runs: list[Run] = []

        def keep(run: Run) -> None:
            store.save(run)
            runs.append(run)

        context = CellContext(sink=keep, command=errand.command)
        cell = _here(errand.cell)
        if errand.is_placed:  # what a fleet calls a GPU need not be what the driver calls it
            cell = replace(cell, needs=Needs())
        row = replace(do_cell(cell, context), cell=errand.cell)
        packed = tuple(_packed(store, run, Path(made)) for run in runs)
    return packed_returned(Returned(row=row, runs=packed))


def _other_than_sent(cell: Cell) -> CellRow | None:
    """Return the row of a cell whose model is not on this machine, or is another file there."""
    subject = cell.job.subject
    if subject.path is None or subject.sha256 is None:
        return None
    try:
        if sha256_of(Path(subject.path)) == subject.sha256:
            return None
        why = "is another file there: its content is not that of the one that the suite names"
    except OSError as error:
        why = f"cannot be read there: {error.strerror or error}"
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return CellRow(
        cell=cell,
        status=CellStatus.FAILED,
        reason=f"{subject.path} on {platform.node()} {why}",
        hint="models lie on a folder that all machines share",
        started=now,
        ended=now,
        host=platform.node(),
    )


def _packed(store: Store, run: Run, folder: Path) -> bytes:
    return store.export(run.id, folder / f"{run.id}.zip").read_bytes()


def _here(cell: Cell) -> Cell:
    """Return the cell with an engine cache that there can be on this machine."""
    asked = cell.job.engine_cache
    if asked is None or _can_be(Path(asked)):
        return cell
    own = Path(tempfile.gettempdir()) / f"enginescope-engines-{os.getuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    if own.stat().st_uid != os.getuid():  # somebody else's, who could change what is run
        own = Path(tempfile.mkdtemp(prefix="enginescope-engines-"))
    return replace(cell, job=replace(cell.job, engine_cache=str(own)))


def _can_be(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def main(arguments: list[str]) -> int:
    """Do the errand in a file, and write what came of it to another."""
    errand, returned = map(Path, arguments[:2])
    if arguments[2:]:
        threading.Thread(target=_end_with_input, daemon=True).start()
    data = do_errand(errand.read_bytes())
    part = returned.with_name(f".{returned.name}.part")
    part.write_bytes(data)
    part.replace(returned)  # whoever waits for it never sees a half
    return 0


def _end_with_input() -> None:
    """Wait for the end of standard input, which whoever sent the cell holds open, and end.

    The cell's own workers die with this process.
    """
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
