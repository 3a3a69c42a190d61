"""``enginescope import``: artifacts of other tools into runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import PATH
from enginescope.cli.process_options import stored_options
from enginescope.cli.verb import ending_in_order, verb

if TYPE_CHECKING:
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
    PyTorch, and archives. Also reads JSON of hyperfine, Google Benchmark and nvbench. Files may be
    packed with gzip, bzip2 or xz. enginescope recognizes files by their content, and stores the
    originals with the run.
    """
    from enginescope.cli.plans.import_output import LedgerObserver, present_imported
    from enginescope.cli.run_output import noting_tags
    from enginescope.services.plans.import_artifacts import ImportRequest, import_runs
    from enginescope.store.archive import Store

    request = ImportRequest(paths=paths, tags=tags, store=Store(store_folder))
    with ending_in_order(), noting_tags(tags, store_folder):
        observer = LedgerObserver()
        runs = import_runs(request, observer)
    present_imported(runs, observer.ledger, as_json=as_json, store=store_folder)
