"""``enginescope tune``: which options make a model fastest, and is the winner real?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from enginescope.analysis.verdicts.comparability import THRESHOLD_PCT
from enginescope.cli.options import (
    COUNT,
    EXISTING,
    FILE,
    FROM_0,
    MOST_ITEMS,
    PATH,
    Finite,
    Parsed,
    count_option,
    dims_option,
    option,
)
from enginescope.cli.process_options import (
    on_option,
    process_fields,
    process_workload,
    report_options,
    shape_option,
    stop_options,
)
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step, step
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.tune import TuneMetric
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.tune.alternatives import ROUNDS, TuneRequest
from enginescope.services.tune.tune import tune_options


def parse_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the values of ``NAME=V1,V2``."""
    name, equals, rest = text.partition("=")
    values = tuple(value.strip() for value in rest.split(","))
    if not name or not equals or not all(values):
        raise UsageError(
            f"{text!r} is not NAME=V1,V2", hint="as in graph_optimization_level=all,basic"
        )
    return name, values


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the batch sizes of ``1,2,4``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_ITEMS for part in parts):
        raise UsageError(f"{text!r} is not a list of sizes", hint="as in 1,2,4")
    return tuple(map(int, parts))


@verb(
    "tune",
    "Try numbers of threads of ONNX Runtime, two minutes at most",
    "enginescope tune model.onnx --option intra_op_num_threads=1,2 --max-time 2min",
    "Try precisions and batch sizes on TensorRT; figures are per item",
    "enginescope tune model.onnx --on trt --on trt:fp16 --batch 1,4,16",
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@on_option(
    "Backend to try; repeat for several. The first is the default.  "
    "[default: ort-cpu; trt for an engine]",
    several=True,
)
@option(
    "--option",
    "choices",
    multiple=True,
    type=Parsed("NAME=V1,V2", parse_values),
    help="Values of a backend's option to try; repeat for more. All combinations are tried.",
)
@option(
    "--batch",
    "batches",
    type=Parsed("SIZE,…", parse_sizes),
    help="Sizes of dynamic first dimensions to try. The first is the default's.",
)
@option(
    "--routes",
    type=EXISTING,
    help="Try the fastest build routes in this file of trtexec --tuningCacheFile.",
)
@option(
    "--metric",
    type=click.Choice(get_args(TuneMetric)),
    default="latency",
    help="Find the least time per item with one request in flight, or the most items per second.",
)
@option("--data", multiple=True, type=PATH, help="Samples whose outputs to check; repeat for more.")
@option("--samples", type=COUNT, help="Number of samples whose outputs to check.  [default: 8]")
@option("--tolerance", metavar="NAME", help="Use the tolerances of this precision, such as fp16.")
@shape_option
@dims_option
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order.")
@stop_options
@count_option("--rounds", ROUNDS, "Maximum number of rounds of the confirmation.")
@option(
    "--threshold",
    "threshold_pct",
    type=Finite(0, 100, min_open=True),
    metavar="PERCENT",
    default=THRESHOLD_PCT,
    help="Ignore smaller differences.",
)
@option("--csv", type=FILE, help="Write the alternatives as CSV to FILE.")
@report_options
def command(model: Path, **options: Any) -> int:
    """Find the options that make MODEL fastest, and measure the winner anew.

    Outputs are checked first: an alternative whose outputs differ from the default's is excluded.
    Rounds of fresh processes then drop the slower half of the alternatives, as far as there is
    evidence. Fresh builds and other inputs compare the leader with the default. Only this
    confirmation decides: among equals, at most 5 % of searches claim a winner.
    """
    from enginescope.render.tune.tune_answer import tune_answer

    check_files(options, model)
    progress = ProcessProgress()
    with measuring(progress, can_continue=True):
        report = tune_options(_request(model, options), progress)
    steps = [runs_step(options, report.comparison, "the search")]
    if report.confirmation is not None and report.confirmation.comparison is not None:
        tag = f"{COMPARISON_TAG}{report.confirmation.comparison}"
        steps.insert(0, step(options, "the confirmation", "compare", tag))
    present_answer(tune_answer(report), options, *steps)
    return exit_code(progress)


def _request(model: Path, options: dict[str, Any]) -> TuneRequest:
    values: dict[str, tuple[str, ...]] = {}
    for name, some in options["choices"]:
        values[name] = (*values.get(name, ()), *some)
    return TuneRequest(
        model=model,
        options=values,
        batches=options["batches"] or (),
        samples=SampleRequest(data=options["data"], count=options["samples"]),
        workload=process_workload(options),
        **process_fields(
            options, "backends", "routes", "metric", "tolerance", "rounds", "threshold_pct"
        ),
    )
