"""``enginescope contend``: what each engine loses when several share one GPU or processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.options import DURATION_MS, FILE, FROM_0, PATH, check_outputs, option
from enginescope.cli.process_options import (
    input_options,
    on_option,
    process_fields,
    rounds_end_options,
    stored_options,
    timeout_option,
)
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import end_report, present_report, step
from enginescope.cli.verb import Verb
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import StopRule, Workload
from enginescope.records.verdict.contend import ContendReport
from enginescope.services.contend.contend import run_contend
from enginescope.services.contend.request import LEAST_ROUNDS, ROUNDS, SHARES, ContendRequest


@click.command(
    "contend",
    cls=Verb,
    examples=(
        (
            "Measure how two models slow down when they share the processor",
            "enginescope contend model.onnx other.onnx --html contend.html",
        ),
        (
            "Run two copies of an engine as streams of one process",
            "enginescope contend net.engine net.engine --share streams",
        ),
    ),
)
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|ENGINE...")
@on_option(
    "Backend of all models, or one for each.  [default: ort-cpu; trt for an engine]",
    several=True,
)
@option(
    "--share",
    type=click.Choice(SHARES),
    default="processes",
    help="Run each contender in its own process, or as a stream of one process.",
)
@input_options
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order.")
@option(
    "--duration",
    type=DURATION_MS,
    default="1s",
    help="Length of the window in which all contenders are timed.",
)
@timeout_option
@option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MOST_ROUNDS),
    default=ROUNDS,
    help="Number of rounds; each measures every contender alone, every pair, and all.",
)
@option("--markdown", type=FILE, help="Write the result and its tables as Markdown to FILE.")
@option("--csv", "csv_file", type=FILE, help="Write a row for each slow-down to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@rounds_end_options
@stored_options
def command(models: tuple[Path, ...], **options: Any) -> int:
    """Measure how much 2 to 6 models slow down when they share one GPU or processor.

    enginescope runs each contender alone, with each other one, and with all, in interleaved rounds
    of fresh processes. All contenders issue requests during the whole window in which they
    are timed. A model named twice contends with itself.
    """
    from enginescope.render.contend.contend_writers import (
        contend_csv,
        contend_json,
        contend_markdown,
        contend_page,
    )

    check_outputs(
        [options["markdown"], options["csv_file"], options["html"]],
        [str(model) for model in models],
    )
    progress = RoundsProgress()
    with measuring(progress, can_continue=True):
        report = run_contend(_request(models, options), progress)
    present_report(
        report,
        options,
        document=contend_json,
        screen=_show,
        markdown=contend_markdown,
        csv_file=contend_csv,
        html=contend_page,
    )
    tag = f"{COMPARISON_TAG}{report.comparison}"
    end_report(options, step(options, "its runs", "runs list", "--tag", tag))
    return exit_code(progress)


def _request(models: tuple[Path, ...], options: dict[str, Any]) -> ContendRequest:
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
        **process_fields(options),
    )


def _show(report: ContendReport) -> None:
    from enginescope.render.base.text import show_answer, stacked
    from enginescope.render.contend.contend_writers import contend_answer

    answered = contend_answer(report)
    show_answer(answered, stacked(answered.tables, has_notes=True))
