"""``enginescope report``: stored runs into files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.compare_options import context_options
from enginescope.cli.options import json_option, store_option
from enginescope.cli.termination import ending_in_order

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace


@click.command("report")
@click.argument("names", metavar="[RUN|PLAN|ENGINE|FOLDER|ARCHIVE]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write to.  [default: report/<run>]",
)
@click.option(
    "--answers",
    multiple=True,
    type=click.Path(path_type=Path),
    help=(
        "Add output_diff.json, or a folder of validate --output.  [default: "
        "files stored with the runs]"
    ),
)
@click.option(
    "--topk",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Maximum number of layers to draw.",
)
@context_options
@store_option
@json_option
def command(
    names: tuple[str, ...],
    output: Path | None,
    answers: tuple[Path, ...],
    topk: int,
    store_folder: StorePlace | None,
    as_json: bool,
    **context: Any,
) -> None:
    """Write the report of RUNs: report.html, .md, .json, tables as CSV, plots as PNG.

    A RUN is the beginning of an id, a tag, `latest`, or a run's folder; without any, the latest.
    Several runs that kept their outputs, as trtexec --exportOutput has them, are compared.
    Of a PLAN's JSON, an ENGINE, a FOLDER or an ARCHIVE of files, what they tell of each engine;
    nothing is stored. What --gpu, --onnx and --build-log add is in the page.
    """
    from enginescope.cli.flag_names import naming_flags
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.core.jsonio import encode
    from enginescope.services.plans.explore_request import ContextFiles
    from enginescope.services.plans.report import ReportRequest, report_runs

    request = ReportRequest(
        subjects=names or ("latest",),
        folder=output,
        topk=topk,
        outputs=answers,
        context=ContextFiles(**context),
        store=store_folder,
    )
    with naming_flags(), ending_in_order():
        written = report_runs(request, NotingObserver())
    if as_json:
        sys.stdout.buffer.write(encode([str(path) for path in written.files]))
        return
    for path in written.files:
        print(path)
