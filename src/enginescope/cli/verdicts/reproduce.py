"""``enginescope reproduce``: exit code 1 where a verdict of an upgrade is another one now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginescope.cli.measure.bench import command_line
from enginescope.cli.messages import next_steps, words
from enginescope.cli.options import (
    FILE,
    PATH,
    check_outputs,
    json_option,
    option,
    store_option,
    write_output,
)
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.cli.verdicts.upgrade import UpgradeProgress
from enginescope.services.upgrade.reproduce import ReproduceRequest, reproduce_upgrade

if TYPE_CHECKING:
    from enginescope.records.verdict.reproduction import Reproduction
    from enginescope.store.location import StorePlace


@click.command(
    "reproduce",
    cls=Verb,
    examples=(
        ("Check that no file of a bundle was changed", "enginescope reproduce bundle --check-only"),
        (
            "Run the upgrade again, with the old version in another place",
            "enginescope reproduce bundle --old /opt/ort118/bin/python",
        ),
    ),
)
@click.argument("folder", type=PATH)
@option(
    "--check-only",
    is_flag=True,
    help="Compare the files with their SHA-256, and run nothing.",
)
@option("--old", metavar="PYTHON", help="Python of the old stack.  [default: the recorded one]")
@option("--new", metavar="PYTHON", help="Python of the new stack.  [default: the recorded one]")
@option("--all", "everything", is_flag=True, help="List metrics that do not count too.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@store_option
@json_option
def command(
    folder: Path,
    check_only: bool,
    old: str | None,
    new: str | None,
    everything: bool,
    html: Path | None,
    store_folder: StorePlace | None,
    as_json: bool,
) -> int:
    """Check the evidence in FOLDER and run its upgrade again; exit with 1 if a verdict differs.

    `enginescope upgrade --evidence FOLDER` wrote it. A changed, missing or added file is an error
    (exit code 2), and so is a stack or a model that this machine lacks. Recorded runs are not
    measured again: their verdicts are computed from the runs in FOLDER.
    """
    check_outputs([html], [str(folder)])
    request = ReproduceRequest(
        folder=folder,
        check_only=check_only,
        old=old,
        new=new,
        store=store_folder,
        command=command_line(),
    )
    progress = UpgradeProgress(quiet=as_json)
    with naming_flags(), ending_in_order(), progress, saying_what_stands(progress.standing):
        result = reproduce_upgrade(request, progress)
    if html is not None:
        from enginescope.render.reproduction.reproduction_page import reproduction_page

        write_output(html, reproduction_page(result))
    _print(result, everything=everything, as_json=as_json)
    if not as_json:
        steps = [("open", str(html))] if html else []
        if check_only:
            steps.append(("run it again", words("enginescope", "reproduce", str(folder))))
        if steps:
            next_steps(*steps)
    return int(result.is_reproduced is False)


def _print(result: Reproduction, *, everything: bool, as_json: bool) -> None:
    from enginescope.render.reproduction.reproduction_writers import (
        HEADERS,
        reproduction_json,
        reproduction_rows,
    )

    if as_json:
        sys.stdout.buffer.write(reproduction_json(result))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import show_answer, table
    from enginescope.render.reproduction.reproduction_phrases import answer_text, scope_facts

    rows = reproduction_rows(result, everything=everything)
    shown = table(HEADERS, rows) if rows else None
    show_answer(answer_text(result), scope_facts(result), shown, ())
