"""``enginescope reproduce``: exit code 1 where a verdict of an upgrade is another one now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.messages import words
from enginescope.cli.options import (
    FILE,
    PATH,
    check_outputs,
    json_option,
    option,
    store_option,
)
from enginescope.cli.process_options import command_line
from enginescope.cli.progress import measuring
from enginescope.cli.report_output import end_report, present_report
from enginescope.cli.verb import Verb
from enginescope.cli.verdicts.upgrade import UpgradeProgress, next_step
from enginescope.services.upgrade.reproduce import ReproduceRequest, reproduce_upgrade

if TYPE_CHECKING:
    from enginescope.records.verdict.reproduction import Reproduction


@click.command(
    "reproduce",
    cls=Verb,
    examples=(
        ("Check that no file of a bundle was changed", "enginescope reproduce bundle --check-only"),
        (
            "Run the upgrade again, with the old version in another place",
            "enginescope reproduce bundle --old old/bin/python",
        ),
    ),
)
@click.argument("folder", type=PATH)
@option(
    "--check-only",
    is_flag=True,
    help="Compare the files with their SHA-256, and run nothing.",
)
@option(
    "--old",
    metavar="PYTHON|docker:IMAGE",
    help="Python or image of the old stack.  [default: the recorded one]",
)
@option(
    "--new",
    metavar="PYTHON|docker:IMAGE",
    help="Python or image of the new stack.  [default: the recorded one]",
)
@option("--all", "everything", is_flag=True, help="Also list metrics that do not count.")
@option("--markdown", type=FILE, help="Write the answer and its tables to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@store_option
@json_option
def command(folder: Path, **options: Any) -> int:
    """Check the evidence in FOLDER and run its upgrade again; exit with 1 if a verdict differs.

    `enginescope upgrade --evidence FOLDER` wrote it. A changed, missing or added file is an error
    (exit code 2), and so is a stack or a model that this machine lacks. Recorded runs are not
    measured again: their verdicts are computed from the runs in FOLDER.
    """
    from enginescope.render.reproduction.reproduction_writers import (
        reproduction_json,
        reproduction_markdown,
        reproduction_page,
    )

    check_outputs([options["markdown"], options["html"]], [str(folder)])
    request = ReproduceRequest(
        folder=folder,
        check_only=options["check_only"],
        old=options["old"],
        new=options["new"],
        store=options["store_folder"],
        command=command_line(),
    )
    progress = UpgradeProgress()
    with measuring(progress):
        result = reproduce_upgrade(request, progress)
    present_report(
        result,
        options,
        document=reproduction_json,
        screen=lambda result: _show(result, everything=options["everything"]),
        markdown=reproduction_markdown,
        html=reproduction_page,
    )
    if result.again is None:
        end_report(options, ("run it again", words("enginescope", "reproduce", str(folder))))
    else:
        end_report(options, next_step(result.again, options))
    return int(result.is_reproduced is False)


def _show(result: Reproduction, *, everything: bool) -> None:
    from enginescope.render.base.text import show_answer
    from enginescope.render.reproduction.reproduction_writers import reproduction_answer

    show_answer(reproduction_answer(result, everything=everything))
