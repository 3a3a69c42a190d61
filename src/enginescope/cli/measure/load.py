"""``enginescope load``: exit code 1 unless an objective is met."""

from __future__ import annotations

from typing import Any

import click

from enginescope.cli.machine_options import conditions_of, machine_options
from enginescope.cli.measure.bench import warm_up_of
from enginescope.cli.options import (
    COUNT,
    COUNT_OR_DURATION,
    DURATION_MS,
    EXISTING,
    FROM_0,
    INPUT,
    RANGE,
    Finite,
    option,
    page_options,
)
from enginescope.cli.process_options import (
    input_options,
    on_option,
    picked,
    stored_fields,
    stored_options,
)
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import verb
from enginescope.records.run.job import Workload
from enginescope.records.run.load import SCENARIOS, LoadRule
from enginescope.records.verdict.load import LoadKind
from enginescope.services.load.load import run_load
from enginescope.services.load.request import (
    MOST_PER_S,
    MOST_WORKERS,
    REPEATS,
    RESOLUTION_PCT,
    SAMPLES_PER_QUERY,
    LoadRequest,
    asked_rule,
    parse_slo,
)


@verb(
    "load",
    "Measure the latency of queries that arrive at random, 100 a second",
    "enginescope load model.onnx --rate 100",
    "Find the highest rate at which 99 % of the queries take less than 50 ms",
    "enginescope load model.onnx --find-max --slo 'p99<50ms' --duration 5s",
)
@click.argument("target", metavar="MODEL|URL")
@on_option("Backend to measure on.  [default: ort-cpu; trt for an engine; oip for a URL]")
@input_options
@option(
    "--input", "files", multiple=True, type=INPUT, help="Read the values of an input from a file."
)
@option(
    "--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers for an input."
)
@option("--data", default="auto", help="Data set folder, auto or none, as for bench.")
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and arrivals.")
@option(
    "--rate",
    type=Finite(0, MOST_PER_S, min_open=True),
    help="Queries per second.  [default: half the rate of the closed loop]",
)
@option(
    "--arrivals",
    type=click.Choice(("poisson", "constant")),
    default="poisson",
    help="Draw random gaps between queries, or use equal ones.",
)
@option("--trace", type=EXISTING, help="Read arrival times in seconds from a file, one per line.")
@option(
    "--concurrency",
    type=click.IntRange(1, MOST_WORKERS),
    default=1,
    help="Number of workers, each with its own session or connection.",
)
@option("--slo", metavar="pN<TIME", help="Latency objective, such as p99<10ms.")
@option("--find-max", is_flag=True, help="Search for the highest rate that meets --slo.")
@option(
    "--resolution",
    type=Finite(0.1, 100),
    default=RESOLUTION_PCT,
    help="End the search when the next rate is within this percentage.",
)
@option(
    "--repeats", type=COUNT, help=f"Processes at each rate.  [default: 1; {REPEATS} in a search]"
)
@option("--scenario", type=click.Choice(SCENARIOS), help="Issue queries as in MLPerf Inference.")
@option(
    "--samples-per-query",
    type=COUNT,
    default=SAMPLES_PER_QUERY,
    help="Requests per query in the scenario multi-stream.",
)
@option("--duration", type=DURATION_MS, help="Let queries arrive for this long.  [default: 10s]")
@option("--queries", type=COUNT, help="Issue exactly this many queries.")
@option(
    "--warmup",
    multiple=True,
    type=COUNT_OR_DURATION,
    help="Warm up for at least this time or count, until steady.  [default: 200ms]",
)
@option("--timeout", type=DURATION_MS, help="Time limit per process.")
@machine_options
@page_options
@option("--max-time", type=DURATION_MS, help="Let --find-max end after this time.")
@option(
    "--continue",
    "continues",
    is_flag=True,
    help="Continue the newest load test of the same target and rule in the store.",
)
@stored_options
def command(target: str, **options: Any) -> int:
    """Measure the latency of queries that arrive at a rate, whether or not earlier ones have ended.

    MODEL is a model or an engine. URL is a model of a server that speaks the Open Inference
    Protocol, over HTTP as http://localhost:8000/v2/models/NAME or over gRPC as
    grpc://localhost:8001/v2/models/NAME. Latency counts from the intended arrival, so a stall
    shows in every query that waits for it.
    """
    from enginescope.render.load.load_answer import load_answer

    check_files(options, target)
    progress = ProcessProgress()
    with measuring(progress, can_continue=True):
        report = run_load(_request(target, options), progress)
    steps = [step(options, "report", "report", report.trials[-1].run[:8])]
    if report.tag is not None and len(report.trials) > 1:
        steps.append(step(options, "its runs", "runs list", "--tag", report.tag))
    present_answer(load_answer(report), options, *steps)
    is_missed = report.kind in (LoadKind.MISSED, LoadKind.INCONCLUSIVE)
    return exit_code(progress, int(is_missed))


def _request(target: str, options: dict[str, Any]) -> LoadRequest:
    rule = asked_rule(
        **picked(options, "scenario", "trace", "arrivals", "queries", "seed", "samples_per_query"),
        rate_per_s=options["rate"],
        duration_ms=options["duration"] or LoadRule().duration_ms,
        workers=options["concurrency"],
    )
    return LoadRequest(
        target=target,
        backends=(options["backend"],) if options["backend"] else (),
        rule=rule,
        slo=parse_slo(options["slo"]) if options["slo"] else None,
        is_search=options["find_max"],
        resolution_pct=options["resolution"],
        max_time_s=options["max_time"] and options["max_time"] / 1e3,
        workload=Workload(
            **picked(options, "batch", "seed", "shapes", "files", "ranges", "dims"),
            warmup=warm_up_of(options["warmup"]),
        ),
        timeout_s=options["timeout"] and options["timeout"] / 1e3,
        conditions=conditions_of(options),
        clock=options["lock_clocks"],
        **picked(options, "repeats", "continues", "data"),
        **stored_fields(options),
    )
