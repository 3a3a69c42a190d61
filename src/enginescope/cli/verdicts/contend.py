"""``enginescope contend``: what each engine loses when several share one GPU or processor."""

from pathlib import Path
from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.options import DURATION_MS, PATH, option
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
from enginescope.core.record import replace
from enginescope.records.run.job import StopRule
from enginescope.services.contend.contend import ContendRequest, run_contend


@verb(
    "contend",
    "Measure how two models slow down when they share the processor",
    "enginescope contend model.onnx other.onnx --html contend.html",
    "Run two copies of an engine as streams of one process",
    "enginescope contend net.engine net.engine --share streams",
)
@click.argument("models", type=PATH, nargs=-1, required=True, metavar="MODEL|ENGINE...")
@process_options.declared_options(ContendRequest)
@process_options.input_options
@process_options.seed_option
@option(
    "--duration",
    "Length of the window in which all contenders are timed.",
    DURATION_MS,
    default="1s",
)
@process_options.table_report_options
def command(models: tuple[Path, ...], **options: Any) -> int:
    """Measure how much 2 to 6 models slow down when they share one GPU or processor.

    enginescope runs each contender alone, with each other one, and with all, in interleaved rounds
    of fresh processes. All contenders issue requests during the whole window in which they
    are timed. A model named twice contends with itself.
    """
    from enginescope.render.contend.contend_answer import contend_answer

    check_files(options, *models)
    stop = StopRule(duration_ms=options["duration"], min_iterations=5, precision_pct=None)
    request = process_options.request_of(ContendRequest, options, models=models)
    request = replace(request, workload=replace(request.workload, stop=stop))
    with measuring(progress := RoundsProgress(), can_continue=True):
        report = run_contend(request, progress)
    present_answer(contend_answer(report), options, runs_step(options, report.comparison))
    return exit_code(progress)
