"""``enginescope report``: stored runs into files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.explore_more import more_options
from enginescope.cli.options import json_option, note, store_option

if TYPE_CHECKING:
    from enginescope.plan_source import PlanSource
    from enginescope.render.page_subject import PageSubject
    from enginescope.store.location import StorePlace

#: Of the folder's name: a system allows 255 bytes.
_MOST_LETTERS = 60


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
    help="output_diff.json, or a folder of validate --output; beside runs it is found.",
)
@click.option("--topk", type=click.IntRange(1), default=30, show_default=True, help="Layers drawn.")
@more_options
@store_option
@json_option
def command(
    names: tuple[str, ...],
    output: Path | None,
    answers: tuple[Path, ...],
    topk: int,
    store_folder: StorePlace | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Write the report of RUNs: report.html, .md, .json, tables as CSV, plots as PNG.

    A RUN is the beginning of an id, a tag, `latest`, or a run's folder; without any, the latest.
    Several runs that kept their outputs, as trtexec --exportOutput has them, are compared.
    Of a PLAN's JSON, an ENGINE, a FOLDER or an ARCHIVE of files, what they tell of each engine;
    nothing is stored. What --gpu, --onnx and --build-log add is in the page.
    """
    from enginescope.cli.plan_sources import sources
    from enginescope.cli.report_answers import archived_answers, kept_answers, named_answers
    from enginescope.core.errors import UsageError
    from enginescope.core.jsonio import encode
    from enginescope.render.report import write_report

    given = [
        one for name in names or ("latest",) for one in sources(name, store_folder=store_folder)
    ]
    for name in names:
        _note_others(name, given, store_folder)
    folder = output or Path("report") / "+".join(map(_short, given))[:_MOST_LETTERS]
    compared = (
        *named_answers(answers),
        *kept_answers(given, store_folder),
        *archived_answers(names),
    )
    about = _subjects(given, asked)
    try:
        written = write_report(about, folder, topk=topk, answers=compared)
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


def _note_others(tag: str, given: Sequence[PlanSource], store_folder: StorePlace | None) -> None:
    """Say that more runs have a tag than its newest, which stands for it."""
    from enginescope.store.archive import Store
    from enginescope.store.run_name import is_tag

    newest = [one.where for one in given if one.kind == "run" and not one.where.startswith(tag)]
    if not newest or not is_tag(tag):
        return
    count = len(Store(store_folder).rows(tag=tag))
    if count > 1:
        note(f"tag {tag}: {count:,} runs have it, and this is the newest; runs list --tag {tag}")


def _subjects(given: Sequence[PlanSource], asked: dict[str, Any]) -> list[PageSubject]:
    """Return the runs with what was named beside them.

    Raises
    ------
    UsageError
        A model or a log, which are of one engine, stands beside several runs; or the GPU is not
        known.
    FormatError
        The model or the log cannot be read.
    """
    from enginescope.cli.explore_more import note_more, read_more
    from enginescope.cli.explore_page import page_subject
    from enginescope.core.errors import UsageError

    for option, value in (("--onnx", asked["onnx"]), ("--build-log", asked["build_log"])):
        if value and len(given) > 1:
            raise UsageError(
                f"{option} {value}",
                why=f"it is of one engine, and {len(given)} were given",
                hint="one report for each engine",
            )
    subjects = []
    for run in (one.as_run() for one in given):
        more = read_more(run.plan, run.profile, asked)
        note_more(more)
        subjects.append(page_subject(run, more))
    return subjects


def _short(source: PlanSource) -> str:
    """Return a stored run's id, shortened; of files the engine's name, the same each time."""
    if source.kind == "run":
        return source.where[:6]
    return re.sub(r"[^\w.-]+", "_", source.name).strip(".") or "plan"
