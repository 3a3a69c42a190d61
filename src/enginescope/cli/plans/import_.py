"""``enginescope import``: artifacts of other tools into runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from enginescope.cli.options import PATH
from enginescope.cli.process_options import stored_options
from enginescope.cli.run_output import SCREENS, noting_tags, present
from enginescope.cli.terminal_observer import NotingObserver
from enginescope.cli.verb import verb
from enginescope.formats.importing.importer import LedgerEntry
from enginescope.records.run.run import Run
from enginescope.services.plans.import_artifacts import ImportObserver, ImportRequest, import_runs
from enginescope.store.archive import Store
from enginescope.store.location import StorePlace


@verb(
    "import",
    "Import trtexec's exported times",
    "enginescope import times.json --tag server",
    "Import a folder of trex files",
    "enginescope import results/",
)
@click.argument("paths", nargs=-1, required=True, type=PATH)
@stored_options
def command(
    paths: tuple[Path, ...], tags: tuple[str, ...], store_folder: StorePlace | None, as_json: bool
) -> None:
    """Import files of other tools as stored runs, one run per engine.

    Reads trtexec's --exportTimes, --exportProfile and --exportLayerInfo, logs of trtexec, of
    TensorRT scripts and of Polygraphy, trex's *.metadata.json, profiles of ONNX Runtime and
    PyTorch, and archives. Also reads JSON of hyperfine, Google Benchmark and nvbench, and what
    plug-ins read. Files may be packed with gzip, bzip2 or xz. enginescope recognizes files by their
    content, and stores the originals with the run.
    """
    request = ImportRequest(paths=paths, tags=tags, store=Store(store_folder))
    with noting_tags(tags, store_folder):
        observer = LedgerObserver()
        runs = import_runs(request, observer)
    present(runs, {"as_json": as_json, "store_folder": store_folder})
    if not as_json:
        _show(runs, observer.ledger)


class LedgerObserver(NotingObserver, ImportObserver):
    """Notes reports on standard error, and keeps what was read of each file."""

    def __init__(self) -> None:
        self.ledger: list[LedgerEntry] = []

    def read_files(self, ledger: Sequence[LedgerEntry]) -> None:
        self.ledger += ledger


def _show(runs: Sequence[Run], ledger: Sequence[LedgerEntry]) -> None:
    from enginescope.render.base.text import notice_lines, show, stacked
    from enginescope.render.plans.import_text import ledger_table, shared_notices

    if len(runs) > SCREENS:  # each of fewer runs has its notices on its screen
        sys.stdout.write("\n")
        for line in notice_lines(shared_notices(runs)):
            show(line)
    if ledger:
        for line in stacked([ledger_table(ledger)])[:-1]:
            show(line)
