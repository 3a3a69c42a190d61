"""``enginescope push``: stored runs to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_runs, complete_tags
from enginescope.cli.messages import warn
from enginescope.cli.options import json_option, option, store_option
from enginescope.cli.process_options import on_option
from enginescope.cli.report_output import print_data
from enginescope.cli.token_option import needed_token, token_option
from enginescope.cli.verb import verb

if TYPE_CHECKING:
    from enginescope.services.store.push import PushReport
    from enginescope.store.location import StorePlace

EXIT_LEFT_OUT = 3


@verb(
    "push",
    "Send the latest run",
    "enginescope push http://server:8642 latest --token-file token",
    "Send all runs with a tag",
    "enginescope push http://server:8642 --tag nightly --token-file token",
)
@click.argument("url", metavar="URL")
@click.argument("names", shell_complete=complete_runs, metavar="[RUN]...", nargs=-1)
@option("--tag", shell_complete=complete_tags, help="Select runs with this tag.")
@option("--model", help="Select runs whose model name contains this text.")
@on_option("Select runs on backends that start with this name.")
@option("--suite", help="Send the plan and the rows of this suite, and their runs.")
@token_option("Read the server's access token from this file.")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    url: str,
    names: tuple[str, ...],
    store_folder: StorePlace | None,
    **options: Any,
) -> None:
    """Send RUNs to the server at URL, started with enginescope serve --accept-push.

    Without RUNs, sends every stored run that the options select, or a suite. What the server
    already has is skipped, so a repeated push resumes.
    """
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.services.store.push import PushRequest, push_runs
    from enginescope.store.row import Filter

    request = PushRequest(
        url=url,
        token=needed_token(options["token_file"]),
        names=names,
        wanted=Filter(
            tag=options["tag"] or None,
            model=options["model"] or None,
            backend=options["backend"] or None,
        ),
        suite=options["suite"],
        store=store_folder,
    )
    report = push_runs(request, TerminalObserver())
    _present(report, as_json=options["as_json"], is_suite=request.suite is not None)
    ctx.exit(EXIT_LEFT_OUT if report.left_out else 0)


def _present(report: PushReport, *, as_json: bool, is_suite: bool) -> None:
    for refused in report.left_out:
        warn(f"not sent: {refused.run}: {refused.why}")
    if as_json:
        data = {"sent": report.sent, "left_out": report.left_out, "there": report.there}
        if is_suite:
            data["rows"] = report.rows
        print_data(data)
        return
    print(f"{len(report.sent)} sent to {report.server}, {report.there} were there")
    if is_suite:
        print(f"{report.rows} rows of the suite sent")
