"""``enginescope history``: a figure over stored runs, and where its level changed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_tags
from enginescope.cli.messages import next_steps, note, words
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
from enginescope.cli.process_options import on_option
from enginescope.cli.report_output import print_json
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.core.units import parse_duration_ms

if TYPE_CHECKING:
    from enginescope.records.verdict.history import JobHistory
    from enginescope.store.location import StorePlace

_HOUR_MS = 3_600_000.0
#: So many series are shown; the page and JSON have all.
_SHOWN = 5


def _sitting(text: str) -> float:
    return 0.0 if text.strip() == "0" else parse_duration_ms(text)


@verb(
    "history",
    "Show the latency of a model over time",
    "enginescope history model.onnx",
    "Plot p99 on one page",
    "enginescope history model.onnx --metric p99 --html history.html",
)
@click.argument("model")
@on_option("Select runs on backends that start with this name.")
@option("--tag", shell_complete=complete_tags, help="Select runs with this tag.")
@option("--metric", default="latency", help="Metric to show: latency, p99, load, … as for gate.")
@option(
    "--threshold",
    "threshold_pct",
    type=Finite(0, 1_000),
    default=2.0,
    metavar="PERCENT",
    help="Ignore level changes up to this percentage.",
)
@option(
    "--session",
    "--sitting",
    "sitting_ms",
    type=Parsed("DURATION", _sitting),
    default=_HOUR_MS,
    show_default=False,
    help=(
        "Group runs into one point if nothing changed and gaps stay below this "
        "duration; 0: never.  [default: 1h]"
    ),
)
@option("--last", type=COUNT, help="Use only this many of the newest runs.")
@option("--html", "html_file", type=FILE, help="Write one HTML page to FILE.")
@option("--png", "png_file", type=FILE, help="Plot one model on one backend as PNG to FILE.")
@store_option
@json_option
def command(model: str, store_folder: StorePlace | None, as_json: bool, **options: Any) -> None:
    """Show a metric over the stored runs of MODEL, and what changed where its level changed.

    MODEL is the model's name, a part of it, or its path. Each job of the model has its own series.
    """
    from enginescope.cli.options import check_outputs
    from enginescope.cli.terminal_observer import TerminalObserver
    from enginescope.services.verdicts.history import HistoryRequest, history_of

    check_outputs((options["html_file"], options["png_file"]), ())
    request = HistoryRequest(
        model=model,
        metric=options["metric"],
        backend=options["backend"],
        tag=options["tag"],
        last=options["last"],
        threshold_pct=options["threshold_pct"],
        sitting_s=options["sitting_ms"] / 1e3,
        store=store_folder,
    )
    found = history_of(request, TerminalObserver())
    _write_page(found, model, options["html_file"])
    _write_png(found, options["png_file"])
    if as_json:
        from enginescope.render.verdicts.history_text import history_json

        print_json(history_json(found))
        return
    _show(found)
    _next(found, model, options["html_file"], store_folder)


def _show(found: Sequence[JobHistory]) -> None:
    from enginescope.render.base.text import label_row, sentence, show, table
    from enginescope.render.verdicts.history_text import (
        HEADERS,
        history_plot,
        history_rows,
        level_text,
        span_text,
        title_text,
    )

    width = shutil.get_terminal_size().columns
    for number, one in enumerate(found[:_SHOWN]):
        if number:
            print()
        show(sentence(title_text(one)))
        show(label_row("", span_text(one)))
        if len(one.points) == 1:
            show(label_row("newest session", level_text(one, one.points[0])))
        else:
            print()
            for line in history_plot(one, width=width):
                print(line)
        rows = history_rows(one)
        if rows:
            print()
            show(table(HEADERS, rows))
    if len(found) > _SHOWN:
        rest = len(found) - _SHOWN
        jobs = "1 more job" if rest == 1 else f"{rest} more jobs"
        note(f"… and {jobs}; --on BACKEND, --html FILE or --json")


def _next(
    jobs: Sequence[JobHistory], model: str, page: Path | None, store: StorePlace | None
) -> None:
    at = ("--store", store) if store else ()
    write = words("enginescope", "history", *at, model, "--html", "history.html")
    steps = [("open", str(page)) if page else ("one page", write)]
    changes = [(job, change) for job in jobs for change in job.sure]
    if changes:
        job, change = changes[-1]
        pair = [job.points[place].runs[-1][:8] for place in (change.at - 1, change.at)]
        steps.append(("compare across the change", words("enginescope", "compare", *at, *pair)))
    next_steps(*steps)


def _write_page(found: Sequence[JobHistory], model: str, path: Path | None) -> None:
    if path is not None:
        from enginescope.render.verdicts.history_page import history_page

        write_output(path, history_page(found, model=Path(model).name))


def _write_png(found: Sequence[JobHistory], path: Path | None) -> None:
    if path is None:
        return
    from enginescope.render.html.images import png_bytes
    from enginescope.render.verdicts.history import history_chart
    from enginescope.render.verdicts.history_text import grouped

    groups = grouped(found)
    if len(groups) > 1:
        raise UsageError(
            f"--png draws one model on one backend, and there are {len(groups)}",
            why="; ".join(f"{jobs[0].model} · {jobs[0].backend}" for jobs in groups[:_SHOWN]),
            hint="--on BACKEND, or --html FILE for all",
        )
    write_output(path, png_bytes(history_chart(groups[0])))
