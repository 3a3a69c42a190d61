"""``enginescope import``: artefacts of other tools into runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import json_option, store_option, tags_option
from enginescope.cli.termination import ending_in_order

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@tags_option
@store_option
@json_option
def command(
    paths: tuple[Path, ...], tags: tuple[str, ...], store_folder: StorePlace | None, as_json: bool
) -> None:
    """Turn the files in PATHS into stored runs, one for each engine.

    Takes trtexec's --exportTimes, --exportProfile and --exportLayerInfo, its build and profile
    logs, trex's *.metadata.json and ONNX Runtime profiles, known by their content; and archives of
    these and of runs. The originals are kept with the run.
    """
    from enginescope.cli.run_output import present
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.services.plans.import_artifacts import ImportRequest, import_runs
    from enginescope.store.archive import Store

    request = ImportRequest(paths=paths, tags=tags, store=Store(store_folder))
    with ending_in_order():
        runs = import_runs(request, NotingObserver())
    present(runs, as_json=as_json, store=store_folder)
