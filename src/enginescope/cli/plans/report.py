"""``enginescope report``: stored runs into files."""

from typing import Any

import click

from enginescope.cli.completion import complete_runs
from enginescope.cli.messages import next_steps
from enginescope.cli.options import (
    COUNT,
    FOLDER,
    PATH,
    card_option,
    json_option,
    option,
    store_option,
)
from enginescope.cli.process_options import declared_options, picked
from enginescope.cli.report_output import print_paths
from enginescope.cli.verb import verb
from enginescope.services.plans.explore_request import ContextRequest


@verb(
    "report",
    "Report the latest run",
    "enginescope report",
    "Report two runs to one folder",
    "enginescope report base new -o report/",
)
@click.argument(
    "names", shell_complete=complete_runs, metavar="[RUN|PLAN|ENGINE|FOLDER|ARCHIVE]...", nargs=-1
)
@option("-o,--output", "Folder to write to.  [default: report/RUN]", FOLDER)
@option(
    "--outputs,--answers answers",
    "Add output_diff.json, or a folder of validate --output.  [default: "
    "files stored with the runs]",
    PATH,
    multiple=True,
)
@option("--topk", "Maximum number of layers to draw.", COUNT, default=30)
@card_option
@option("--open opens", "Open the page in a browser.", is_flag=True)
@declared_options(ContextRequest)
@store_option
@json_option
def command(names: tuple[str, ...], **options: Any) -> None:
    """Write a report of RUNs: report.html, .md, .json, CSV tables and PNG plots.

    A RUN is the start of an id, a tag, `latest`, or a run's folder. Without RUNs, reports the
    latest run. If runs stored their outputs, the report compares them. For a PLAN's JSON, an
    ENGINE, a FOLDER or an ARCHIVE, it describes each engine and stores nothing.
    """
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.services.plans.report import ReportRequest, report_runs

    request = ReportRequest(
        subjects=names or ("latest",),
        folder=options["output"],
        outputs=options["answers"],
        store=options["store_folder"],
        **picked(options, "card", "topk", *ContextRequest.__struct_fields__),
    )
    written = report_runs(request, NotingObserver())
    print_paths(written.files, options)
    page = next((path for path in written.files if path.suffix == ".html"), None)
    if options["opens"] and page is not None:
        click.launch(str(page))
    elif page is not None and not options["as_json"]:
        next_steps(("open", str(page)))
