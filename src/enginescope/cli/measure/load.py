"""``enginescope load``: exit code 1 unless an objective is met."""

from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.measure.bench import warm_up_of
from enginescope.cli.options import DURATION_MS, option, page_options
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import verb
from enginescope.records.verdict.load import LoadKind
from enginescope.services.load.load import run_load
from enginescope.services.load.request import LoadRequest


@verb(
    "load",
    "Measure the latency of queries that arrive at random, 100 a second",
    "enginescope load model.onnx --rate 100",
    "Find the highest rate at which 99 % of the queries take less than 50 ms",
    "enginescope load model.onnx --find-max --slo 'p99<50ms' --duration 5s",
)
@click.argument("target", metavar="MODEL|URL")
@process_options.declared_options(LoadRequest)
@process_options.request_options
@option("--timeout", "Time limit per process.", DURATION_MS)
@process_options.machine_options
@page_options
@process_options.stored_options
def command(target: str, **options: Any) -> int:
    """Measure the latency of queries that arrive at a rate, whether or not earlier ones have ended.

    MODEL is a model or an engine. URL is a model of a server that speaks the Open Inference
    Protocol, over HTTP as http://localhost:8000/v2/models/NAME or over gRPC as
    grpc://localhost:8001/v2/models/NAME. Latency counts from the intended arrival, so a stall
    shows in every query that waits for it.
    """
    from enginescope.render.load.load_answer import load_answer

    check_files(options, target)
    request = process_options.request_of(
        LoadRequest,
        options | {"warmup": warm_up_of(options["warmup"])},
        target=target,
        conditions=process_options.conditions_of(options),
    )
    with measuring(progress := ProcessProgress(), can_continue=True):
        report = run_load(request, progress)
    steps = [step(options, "report", "report", report.trials[-1].run[:8])]
    if report.tag is not None and len(report.trials) > 1:
        steps.append(step(options, "its runs", "runs list", "--tag", report.tag))
    present_answer(load_answer(report), options, *steps)
    return exit_code(progress, int(report.kind in (LoadKind.MISSED, LoadKind.INCONCLUSIVE)))
