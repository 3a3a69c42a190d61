"""``enginescope runs``: list, show, tag, export and delete stored runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.options import json_option, note, store_option

if TYPE_CHECKING:
    from enginescope.store.archive import Store
    from enginescope.store.row import RunRow


@click.group("runs", invoke_without_command=True)
@store_option
@click.pass_context
def command(ctx: click.Context, store_folder: Path | None) -> None:
    """List, show, tag, export and delete stored runs. Alone, it lists the latest twenty.

    A RUN is the beginning of an id, a tag, `latest`, `latest~2`, or a run's folder.
    """
    ctx.obj = store_folder
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_runs)


def _store(explicit: Path | None = None) -> Store:
    from enginescope.store.archive import Store

    return Store(explicit or click.get_current_context().find_object(Path))


def _json(value: Any) -> None:
    from enginescope.core.jsonio import encode

    sys.stdout.buffer.write(encode(value))
    sys.stdout.flush()


@command.command("list")
@click.option("--tag", help="With this tag.")
@click.option("--model", help="With this in the model's name.")
@click.option("--on", "backend", help="On backends that begin so.")
@click.option("--outcome", help="With this outcome: ok, failed, crashed …")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@store_option
@json_option
def list_runs(
    store_folder: Path | None = None, as_json: bool = False, limit: int = 20, **wanted: str | None
) -> None:
    """List runs, the newest first."""
    rows = _store(store_folder).rows(limit=limit, **wanted)
    if as_json:
        _json(rows)
        return
    if not rows:
        note("no runs; enginescope bench MODEL.onnx makes one")
        return
    from enginescope.render.text import show, table

    headers = ("run", "made", "model", "backend", "outcome", "median ms", "tags")
    # what 80 columns leave for names when the other columns are at their usual width
    spare = max(0, shutil.get_terminal_size().columns - 80)
    cells = [_cells(row, 18 + spare // 2, 8 + spare // 2) for row in rows]
    show(table(headers, cells, right=("median ms",)))


def _cells(row: RunRow, model_width: int, backend_width: int) -> tuple[str, ...]:
    from enginescope.core.units import format_significant
    from enginescope.render.phrases import shorten

    return (
        row.id[:6],
        row.created[5:16].replace("T", " "),
        shorten(row.model, model_width),
        shorten(row.backend, backend_width),
        row.outcome,
        format_significant(row.median_ms, 4) if row.median_ms is not None else "",
        " ".join(row.tags),
    )


@command.command("show")
@click.argument("run")
@store_option
@json_option
def show_run(run: str, store_folder: Path | None, as_json: bool) -> None:
    """Show one RUN: its figures, conditions and files."""
    from enginescope.cli.run_output import present

    store = _store(store_folder)
    found = store.load(run)
    present([found], as_json=as_json)
    if as_json:
        return
    print(f"made     {found.created}")
    print(f"command  {found.command or 'not known'}")
    if found.stop:
        print(f"stopped  by {found.stop.rule} after {found.stop.duration_ms / 1e3:.1f} s")
    for phase in found.phases:
        print(f"phase    {phase.name.replace('_', ' ')}: {phase.duration_ms:,.1f} ms")
    if found.tags:
        print(f"tags     {' '.join(found.tags)}")
    print(f"folder   {store.folder_of(run)}")
    for artifact in found.artifacts:
        print(f"file     {artifact.path} ({artifact.kind})")


@command.command("tag")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True)
@store_option
def tag_run(run: str, tags: tuple[str, ...], store_folder: Path | None) -> None:
    """Give RUN one or more TAGS."""
    found = _store(store_folder).tag(run, *tags)
    print(f"{found.id[:6]}: {' '.join(found.tags)}")


@command.command("untag")
@click.argument("run")
@click.argument("tags", nargs=-1, required=True)
@store_option
def untag_run(run: str, tags: tuple[str, ...], store_folder: Path | None) -> None:
    """Take TAGS off RUN."""
    found = _store(store_folder).untag(run, *tags)
    print(f"{found.id[:6]}: {' '.join(found.tags) or 'no tags'}")


@command.command("export")
@click.argument("run")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_option
def export_run(run: str, file: Path, store_folder: Path | None) -> None:
    """Write RUN's folder to FILE as zip."""
    print(_store(store_folder).export(run, file))


@command.command("delete")
@click.argument("runs", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
def delete_runs(runs: tuple[str, ...], yes: bool, store_folder: Path | None) -> None:
    """Delete RUNS with all their files."""
    store = _store(store_folder)
    folders = [store.folder_of(name) for name in runs]
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("deleting without a terminal to ask on needs --yes")
        click.confirm(f"delete {', '.join(one.name[:6] for one in folders)}?", abort=True)
    for folder in folders:
        print(f"deleted {store.delete(folder.name)}")


@command.command("reindex")
@store_option
@json_option
def reindex(store_folder: Path | None, as_json: bool) -> None:
    """Make the index again from the folders of the runs."""
    report = _store(store_folder).reindex()
    if as_json:
        _json(report)
        return
    print(f"{report.indexed} runs indexed")
    for broken in report.broken:
        note(f"skipped {broken.name}: {broken.reason}")
