"""``enginescope import``: artefacts of other tools into runs."""

from __future__ import annotations

from pathlib import Path

import click

from enginescope.cli.options import json_option, note, store_option


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--tag", "tags", multiple=True, help="Name for the runs in the store.")
@store_option
@json_option
def command(
    paths: tuple[Path, ...], tags: tuple[str, ...], store_folder: Path | None, as_json: bool
) -> None:
    """Turn the files in PATHS into stored runs, one for each engine.

    Takes trtexec's --exportTimes, --exportProfile and --exportLayerInfo, its build and profile
    logs, trex's *.metadata.json and ONNX Runtime profiles, known by their content. The originals
    are kept with the run.
    """
    from enginescope.cli.run_output import present
    from enginescope.formats.importer import import_artifacts
    from enginescope.store.archive import Store

    found = import_artifacts(paths)
    store = Store(store_folder)
    runs = []
    for run in found.runs:
        store.save(run, tags=tags)
        runs.append(store.load(run.id))
    for path, reason in found.skipped:
        note(f"not imported: {path}: {reason}")
    present(runs, as_json=as_json, store=store_folder)
