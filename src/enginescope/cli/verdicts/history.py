"""``enginescope history``: a figure over stored runs, and where its level changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_tags
from enginescope.cli.messages import note
from enginescope.cli.options import (
    COUNT,
    FILE,
    Finite,
    Parsed,
    json_option,
    option,
    store_option,
    write_output,
)
from enginescope.cli.process_options import on_option, picked
from enginescope.cli.report_output import end_report, print_json, step
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.core.units import parse_duration_ms
from enginescope.judge.units import counted
from enginescope.services.output_files import check_outputs

if TYPE_CHECKING:
    from enginescope.records.verdict.history import JobHistory
    from enginescope.render.html.images import Chart

#: So many series are shown; the page and JSON have all.
_SHOWN = 5


@verb(
    "history",
    "Show the latency of a model over time",
    "enginescope history model.onnx",
    "Plot p99 on one page",
    "enginescope history model.onnx --metric p99 --html history.html",
)
@click.argument("model")
@on_option("Select runs on backends that start with this name.")
@option("--tag", "Select runs with this tag.", shell_complete=complete_tags)
@option("--metric", "Metric to show: latency, p99, load, … as for gate.", default="latency")
@option(
    "--threshold threshold_pct",
    "Ignore level changes up to this percentage.",
    Finite(0, 1_000),
    default=2.0,
    metavar="PERCENT",
)
@option(
    "--session,--sitting sitting_ms",
    "Group runs into one point if nothing changed and gaps stay below this duration; 0: "
    "never.  [default: 1h]",
    Parsed("DURATION", lambda text: 0.0 if text.strip() == "0" else parse_duration_ms(text)),
    default=3_600_000.0,  # an hour
    show_default=False,
)
@option("--last", "Use only this many of the newest runs.", COUNT)
@option("--html", "Write one HTML page to FILE.", FILE)
@option("--png", "Plot one model on one backend as PNG to FILE.", FILE)
@store_option
@json_option
def command(model: str, **options: Any) -> None:
    """Show a metric over the stored runs of MODEL, and what changed where its level changed.

    MODEL is the model's name, a part of it, or its path. Each job of the model has its own series.
    """
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.render.verdicts.history_text import history_json
    from enginescope.services.verdicts.history import HistoryRequest, history_of

    check_outputs((options["html"], options["png"]), ())
    request = HistoryRequest(
        model=model,
        **picked(options, "metric", "backend", "tag", "last", "threshold_pct"),
        sitting_s=options["sitting_ms"] / 1e3,
        store=options["store_folder"],
    )
    found = history_of(request, TerminalObserver())
    steps = tuple(_steps(found, model, options))
    if options["html"] is not None:
        from enginescope.render.verdicts.history_page import history_page

        write_output(options["html"], history_page(found, model=Path(model).name, steps=steps))
    if options["png"] is not None:
        from enginescope.render.html.images import png_bytes

        write_output(options["png"], png_bytes(_chart(found)))
    if options["as_json"]:
        print_json(history_json(found))
    else:
        _show(found)
        own = step(options, "one page", "history", model, "--html", "history.html")
        end_report(options, *(() if options["html"] else (own,)), *steps)


def _show(found: Sequence[JobHistory]) -> None:
    from enginescope.render.base.text import label_row, sentence, show, table
    from enginescope.render.verdicts import history_text

    width = shutil.get_terminal_size().columns
    named, options = history_text.named_apart(found)
    for number, job in enumerate(named[:_SHOWN]):
        if number:
            print()
        show(sentence(history_text.title_text(job)))
        show(label_row("", history_text.span_text(job)))
        if any(job.warnings.values()):
            show(label_row("look", history_text.warnings_text(job)))
        if len(job.points) == 1:
            show(label_row("newest session", history_text.level_text(job, job.points[0])))
        else:
            print("", *history_text.history_plot(job, width=width), sep="\n")
        if rows := history_text.history_rows(job):
            print()
            show(table(history_text.HEADERS, rows))
    if options:
        show(label_row("options", options))
    if (more := len(found) - _SHOWN) > 0:
        note(f"… and {counted(more, 'more job')}; --on BACKEND, --html FILE or --json")


def _steps(
    jobs: Sequence[JobHistory], model: str, options: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    from enginescope.render.base.data_table import printable
    from enginescope.render.verdicts.history_text import across_change

    pair = across_change(jobs)
    if pair is not None:
        yield step(options, "compare across the change", "compare", *(run[:8] for run in pair))
        return
    job = jobs[0]
    if len(job.points) == 1 < len(job.points[0].runs):
        yield step(options, "each run on its own", "history", model, "--session", 0)
    if job.command is not None:
        yield "measure another session", printable(job.command)


def _chart(found: Sequence[JobHistory]) -> Chart:
    from enginescope.render.verdicts.history_page import history_chart
    from enginescope.render.verdicts.history_text import grouped

    groups = grouped(found)
    if len(groups) > 1:
        raise UsageError(
            f"--png draws one model on one backend, and there are {len(groups)}",
            why="; ".join(f"{jobs[0].model} · {jobs[0].backend}" for jobs in groups[:_SHOWN]),
            hint="--on BACKEND, or --html FILE for all",
        )
    return history_chart(groups[0])
