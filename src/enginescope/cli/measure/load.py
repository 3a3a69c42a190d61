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
    FILE,
    FROM_0,
    INPUT,
    RANGE,
    Finite,
    check_outputs,
    option,
)
from enginescope.cli.process_options import (
    input_options,
    on_option,
    picked,
    stored_fields,
    stored_options,
)
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import end_report, present_report, step
from enginescope.cli.verb import Verb
from enginescope.formats.arrival_trace import read_arrival_trace
from enginescope.records.run.job import Workload
from enginescope.records.run.load import SCENARIOS, LoadRule
from enginescope.records.verdict.load import LoadKind, LoadReport, LoadStep
from enginescope.services.load.load import run_load
from enginescope.services.load.request import (
    MOST_PER_S,
    MOST_WORKERS,
    REPEATS,
    RESOLUTION_PCT,
    SAMPLES_PER_QUERY,
    LoadObserver,
    LoadRequest,
    parse_slo,
    rule_of_scenario,
)


@click.command(
    "load",
    cls=Verb,
    examples=(
        (
            "Measure the latency of queries that arrive at random, 100 a second",
            "enginescope load model.onnx --rate 100",
        ),
        (
            "Find the highest rate at which 99 % of the queries take less than 50 ms",
            "enginescope load model.onnx --find-max --slo 'p99<50ms' --duration 5s",
        ),
    ),
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
@option("--max-time", type=DURATION_MS, help="Let --find-max end after this time.")
@option(
    "--continue",
    "continues",
    is_flag=True,
    help="Continue the newest load test of the same target and rule in the store.",
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
@option("--markdown", type=FILE, help="Write the answer and its tables to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@stored_options
def command(target: str, **options: Any) -> int:
    """Measure the latency of queries that arrive at a rate, whether or not earlier ones have ended.

    MODEL is a model or an engine. URL is a model of a server that speaks the Open Inference
    Protocol, over HTTP as http://localhost:8000/v2/models/NAME or over gRPC as
    grpc://localhost:8001/v2/models/NAME. Latency counts from the intended arrival, so a stall
    shows in every query that waits for it.
    """
    from enginescope.render.load.load_writers import load_json, load_markdown, load_page

    check_outputs([options["markdown"], options["html"]], [target])
    progress = LoadProgress()
    with measuring(progress, can_continue=True):
        report = run_load(_request(target, options), progress)
    present_report(
        report,
        options,
        document=load_json,
        screen=_show,
        markdown=load_markdown,
        html=load_page,
    )
    shown = [step(options, "report", "report", report.trials[-1].run[:8])]
    if report.tag is not None and len(report.trials) > 1:
        shown.append(step(options, "its runs", "runs list", "--tag", report.tag))
    end_report(options, *shown)
    is_missed = report.kind in (LoadKind.MISSED, LoadKind.INCONCLUSIVE)
    return exit_code(progress, int(is_missed))


def _request(target: str, options: dict[str, Any]) -> LoadRequest:
    trace = options["trace"]
    rule = LoadRule(
        arrivals="trace" if trace is not None else options["arrivals"],
        rate_per_s=options["rate"],
        duration_ms=options["duration"] or LoadRule().duration_ms,
        queries=options["queries"],
        seed=options["seed"],
        times_ms=read_arrival_trace(trace) if trace is not None else (),
        workers=options["concurrency"],
        samples_per_query=options["samples_per_query"],
    )
    return LoadRequest(
        target=target,
        backends=(options["backend"],) if options["backend"] else (),
        rule=rule_of_scenario(options["scenario"], rule),
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


class LoadProgress(ProcessProgress, LoadObserver):
    """Shows the process that runs, and the verdict at each rate."""

    def step_ended(self, step: LoadStep) -> None:
        from enginescope.render.load.load_writers import rate_of, rate_text

        if step.kind is not LoadKind.MEASURED:
            self._line(f"{rate_text(rate_of(step))}: {step.kind.value}")


def _show(report: LoadReport) -> None:
    from enginescope.render.base.text import show_answer, stacked
    from enginescope.render.load.load_writers import load_answer

    answered = load_answer(report)
    show_answer(answered, stacked(answered.tables[:1], has_notes=True)[:-1])
