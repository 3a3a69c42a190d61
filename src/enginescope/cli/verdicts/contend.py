"""``enginescope contend``: what each engine loses when several share one GPU or processor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.measure.bench import command_line
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.messages import next_steps, words
from enginescope.cli.options import (
    DURATION_MS,
    FILE,
    FROM_0,
    MOST_ITEMS,
    PATH,
    SHAPE,
    check_outputs,
    dims_option,
    json_option,
    option,
    store_option,
    tags_option,
    write_output,
)
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Limits, StopRule, Workload
from enginescope.records.verdict.contend import ContendReport
from enginescope.services.contend.contend import run_contend
from enginescope.services.contend.request import LEAST_ROUNDS, ROUNDS, SHARES, ContendRequest
from enginescope.stats.comparison.ratio import MOST_ROUNDS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from enginescope.store.location import StorePlace


@click.command(
    "contend",
    cls=Verb,
    examples=(
        (
            "Measure what two models lose when they share the processor",
            "enginescope contend model.onnx other.onnx --html contend.html",
        ),
        (
            "Run two copies of an engine as streams of one process",
            "enginescope contend net.engine net.engine --share streams",
        ),
    ),
)
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|ENGINE...")
@option(
    "--on",
    "backends",
    multiple=True,
    shell_complete=complete_backends,
    help="Backend of all models, or one for each.  [default: ort-cpu; trt for an engine]",
)
@option(
    "--share",
    type=click.Choice(SHARES),
    default="processes",
    help="Run each contender in a process of its own, or as a stream of one process.",
)
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of an input.")
@dims_option
@option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Set the size of dynamic first dimensions."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order.")
@option(
    "--duration",
    type=DURATION_MS,
    default="1s",
    help="Length of the window in which all contenders are timed.",
)
@option("--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]")
@option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MOST_ROUNDS),
    default=ROUNDS,
    help="Number of rounds; each measures every contender alone, every pair, and all.",
)
@option("--markdown", type=FILE, help="Write the answer and its tables to FILE.")
@option("--csv", "csv_file", type=FILE, help="Write a row for each slow-down to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@tags_option
@store_option
@json_option
def command(models: tuple[Path, ...], **options: Any) -> int:
    """Measure what each model loses when 2 to 6 of them share one GPU or processor.

    enginescope runs each contender alone, beside each other one, and beside all, in interleaved
    rounds of fresh processes. All contenders issue requests during the whole window in which they
    are timed. A model named twice contends with itself.
    """
    check_outputs(
        [options["markdown"], options["csv_file"], options["html"]],
        [str(model) for model in models],
    )
    progress = RoundsProgress(quiet=options["as_json"])
    with (
        naming_flags(),
        ending_in_order(),
        progress,
        saying_what_stands(progress.standing),
    ):
        report = run_contend(_request(models, options), progress)
    _write(report, options)
    _print(report, as_json=options["as_json"])
    if not options["as_json"]:
        _next(report, options["html"] or options["markdown"], options["store_folder"])
    return 0


def _request(models: tuple[Path, ...], options: dict[str, Any]) -> ContendRequest:
    timeout_ms = options["timeout"]
    return ContendRequest(
        models=models,
        backends=options["backends"],
        share=options["share"],
        rounds=options["rounds"],
        workload=Workload(
            batch=options["batch"],
            seed=options["seed"],
            shapes=options["shapes"],
            dims=options["dims"],
            stop=StopRule(duration_ms=options["duration"], min_iterations=5, precision_pct=None),
        ),
        limits=Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        tags=options["tags"],
        store=options["store_folder"],
        command=command_line(),
    )


def _write(report: ContendReport, options: dict[str, Any]) -> None:
    from enginescope.render.contend.contend_writers import (
        contend_csv,
        contend_markdown,
        contend_page,
    )

    writers = (("markdown", contend_markdown), ("csv_file", contend_csv), ("html", contend_page))
    for name, writer in writers:
        if options[name] is not None:
            write_output(options[name], writer(report))


def _print(report: ContendReport, *, as_json: bool) -> None:
    if as_json:
        from enginescope.render.contend.contend_writers import contend_json

        sys.stdout.buffer.write(contend_json(report))
        sys.stdout.flush()
        return
    from rich.console import Group

    from enginescope.render.base.text import show_answer
    from enginescope.render.contend.contend_phrases import answer_text, scope_facts

    tables = Group(*_shown(report))
    show_answer(answer_text(report), scope_facts(report), tables, report.notices)


def _shown(report: ContendReport) -> Iterator[RenderableType]:
    from rich.text import Text

    from enginescope.render.base.text import table
    from enginescope.render.contend.contend_phrases import contend_tables

    for part in contend_tables(report):
        yield table(part.headers, part.rows, right=part.numbers, whole=part.headers[:1])
        yield Text(f"{part.note}\n" if part.note else "", style="dim")


def _next(report: ContendReport, written: Path | None, store: StorePlace | None) -> None:
    at = ("--store", store) if store else ()
    steps = [("open", str(written))] if written else []
    tag = f"{COMPARISON_TAG}{report.comparison}"
    next_steps(*steps, ("its runs", words("enginescope", "runs", "list", *at, "--tag", tag)))
