"""``enginescope import``: artefacts of other tools into runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.options import json_option, note, store_option, tags_option

if TYPE_CHECKING:
    from enginescope.formats.importer import Imported
    from enginescope.model.run import Run
    from enginescope.store.archive import Store
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
    from enginescope.formats.importer import import_artifacts
    from enginescope.plan_sources import is_archive
    from enginescope.store.archive import Store

    store = Store(store_folder)
    archives = [path for path in paths if is_archive(path)]
    loose = [path for path in paths if path not in archives]
    runs = _stored(store, import_artifacts(loose), tags) if loose else []
    for archive in archives:
        runs += _of_archive(store, archive, tags)
    present(runs, as_json=as_json, store=store_folder)


def _stored(store: Store, found: Imported, tags: tuple[str, ...]) -> list[Run]:
    runs = []
    for run in found.runs:
        store.save(run, tags=tags)
        runs.append(store.load(run.id))
    for path, reason in found.skipped:
        note(f"not imported: {path}: {reason}")
    return runs


def _of_archive(store: Store, archive: Path, tags: tuple[str, ...]) -> list[Run]:
    """Store the runs of an archive as they are, and those that its other files make.

    Raises
    ------
    UsageError
        There are none.
    StoreError
        The store has a run of such an id already.
    """
    from enginescope.archive_source import asked_engines, nothing_in, unpacked
    from enginescope.cli.plan_sources import saying
    from enginescope.store.archive import load_path

    with saying() as say, unpacked(archive, say) as found:
        runs = []
        for folder in found.runs:
            run = load_path(folder)
            store.save(run, tags=tags, files_from=folder)
            runs.append(store.load(run.id))
        runs += _stored(store, found.imported(), tags)
        if not runs:  # trex's archives hold no plan: the engine is asked
            for source in asked_engines(found, say):
                store.save(source.as_run(), tags=tags)
                runs.append(store.load(source.as_run().id))
        if not runs:
            raise nothing_in(archive, found.contents)
    return runs
