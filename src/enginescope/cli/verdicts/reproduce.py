"""``enginescope reproduce``: exit code 1 where a verdict of an upgrade is another one now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import words
from enginescope.cli.options import PATH, json_option, option, page_options, store_option
from enginescope.cli.process_options import command_line
from enginescope.cli.progress import measuring
from enginescope.cli.report_output import check_files, present_answer
from enginescope.cli.verb import verb
from enginescope.cli.verdicts.upgrade import next_step
from enginescope.services.upgrade.reproduce import ReproduceRequest, reproduce_upgrade


@verb(
    "reproduce",
    "Check that no file of a bundle was changed",
    "enginescope reproduce bundle --check-only",
    "Run the upgrade again, with the old version in another place",
    "enginescope reproduce bundle --old old/bin/python",
)
@click.argument("folder", type=PATH)
@option("--check-only", is_flag=True, help="Compare the files with their SHA-256, and run nothing.")
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
@page_options
@store_option
@json_option
def command(folder: Path, **options: Any) -> int:
    """Check the evidence in FOLDER and run its upgrade again; exit with 1 if a verdict differs.

    `enginescope upgrade --evidence FOLDER` wrote it. A changed, missing or added file is an error
    (exit code 2), and so is a stack or a model that this machine lacks. Recorded runs are not
    measured again: their verdicts are computed from the runs in FOLDER.
    """
    from enginescope.render.reproduction.reproduction_answer import reproduction_answer

    check_files(options, folder)
    request = ReproduceRequest(
        folder=folder,
        check_only=options["check_only"],
        old=options["old"],
        new=options["new"],
        store=options["store_folder"],
        command=command_line(),
    )
    progress = RoundsProgress()
    with measuring(progress):
        result = reproduce_upgrade(request, progress)
    after = ("run it again", words("enginescope", "reproduce", str(folder)))
    if result.again is not None:
        after = next_step(result.again, options)
    present_answer(reproduction_answer(result), options, after)
    return int(result.is_reproduced is False)
