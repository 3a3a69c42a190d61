"""``enginescope report``: stored runs into files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from enginescope.cli.options import json_option, note, store_option


@click.command("report")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to.  [default: report/<run>]",
)
@click.option("--topk", type=click.IntRange(1), default=30, show_default=True, help="Layers drawn.")
@store_option
@json_option
def command(
    names: tuple[str, ...],
    output: Path | None,
    topk: int,
    store_folder: Path | None,
    as_json: bool,
) -> None:
    """Write the report of RUNs: report.html, .md, .json, tables as CSV, plots as PNG.

    A RUN is the beginning of an id, a tag, `latest`, or a run's folder; without any, the latest.
    """
    from enginescope.analysis.run_view import RunView
    from enginescope.core.errors import UsageError
    from enginescope.core.jsonio import encode
    from enginescope.render.report import write_report
    from enginescope.store.archive import Store

    store = Store(store_folder)
    runs = [store.load(name) for name in names or ("latest",)]
    folder = output or Path("report") / "+".join(run.id[:6] for run in runs)
    try:
        written = write_report([RunView(run) for run in runs], folder, topk=topk)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        why = error.strerror or str(error)
        raise UsageError(f"report {folder}", why=why, hint="--output DIR") from error
    for name, reason in written.skipped:
        note(f"not written: {name}: {reason}")
    if as_json:
        sys.stdout.buffer.write(encode([str(path) for path in written.files]))
        return
    for path in written.files:
        print(path)
