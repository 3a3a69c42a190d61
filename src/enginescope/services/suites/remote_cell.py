"""Run a cell on the machine that it was sent to.

``python -m enginescope.services.suites.remote_cell TASK RESULT`` reads the first file and writes
the second. With a third argument, ``attended``, it exits as soon as its standard input ends. Ray
calls `run_remote_cell`. A failure inside the cell is a row that goes back.
"""

import os
import platform
import stat
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from enginescope.core.jsonio import sha256_of, write_atomic
from enginescope.core.process_control import end_with_input
from enginescope.core.record import replace
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.run import Run
from enginescope.records.suite.suite import Cell, CellRow, CellStatus, Needs
from enginescope.runner.fleet.machines import CellTaskResult, packed_returned, unpacked_task
from enginescope.services.suites.cell import CellContext, now, run_cell
from enginescope.services.suites.reference_cache import shared_references
from enginescope.store.archive import Store


def run_remote_cell(data: bytes) -> bytes:
    """Run the cell of a packed task here; return its row and runs."""
    task = unpacked_task(data)
    failed = _row_of_another_model(task.cell)
    if failed is not None:
        return packed_returned(CellTaskResult(row=failed))
    with temporary_folder() as folder:
        store = Store(folder / "store")
        runs: list[Run] = []

        def keep(run: Run) -> None:
            store.save(run)
            runs.append(run)

        references = shared_references(task.references)
        context = CellContext(sink=keep, command=task.command, references=references)
        cell = _with_usable_cache(task.cell, folder / "engines")
        if task.is_placed:  # a fleet and the driver may name the same GPU differently
            cell = replace(cell, needs=Needs())
        row = replace(run_cell(cell, context), cell=task.cell)
        packed = tuple(store.export(run.id, folder / f"{run.id}.zip").read_bytes() for run in runs)
    return packed_returned(CellTaskResult(row=row, runs=packed))


def _row_of_another_model(cell: Cell) -> CellRow | None:
    """Return a row if the cell's model is missing on this machine, or is another file here."""
    subject = cell.job.subject
    if subject.path is None or subject.sha256 is None:
        return None
    try:
        if sha256_of(Path(subject.path)) == subject.sha256:
            return None
        why = "differs there from the file that the suite names"
    except OSError as error:
        why = f"cannot be read there: {error.strerror or error}"
    time = now()
    return CellRow(
        cell=cell,
        status=CellStatus.FAILED,
        reason=f"{subject.path} on {platform.node()} {why}",
        hint="models must be in a folder that all machines share",
        started=time,
        ended=time,
        host=platform.node(),
    )


def _with_usable_cache(cell: Cell, last_resort: Path) -> Cell:
    cache = cell.job.engine_cache
    if cache is None or _is_writable(Path(cache)):
        return cell
    own = Path(tempfile.gettempdir()) / f"enginescope-engines-{os.getuid()}"
    with suppress(FileExistsError):  # also a link, whoever made it
        own.mkdir(mode=0o700)
    found = own.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        own = last_resort  # another user could change the engines
    return replace(cell, job=replace(cell.job, engine_cache=str(own)))


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def main(arguments: list[str]) -> int:
    """Run the task in a file, and write its result to another file."""
    task_file, result = map(Path, arguments[:2])
    if arguments[2:]:
        threading.Thread(target=end_with_input, daemon=True).start()
    returned = run_remote_cell(task_file.read_bytes())
    write_atomic(result, returned)  # a reader never sees a part of it
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
