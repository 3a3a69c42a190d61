"""``enginescope shapes``: which shapes to run and build for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.options import (
    EXISTING,
    FILE,
    FROM_0,
    PATH,
    RANGE,
    SHAPE,
    Finite,
    Parsed,
    count_option,
    dims_option,
    option,
)
from enginescope.cli.process_options import on_option, process_fields, report_options, rounds_option
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
from enginescope.core.errors import UsageError
from enginescope.records.run.job import Mode, Workload
from enginescope.services.shapes.shapes import sweep_shapes
from enginescope.services.shapes.sweep import (
    BATCHES,
    GAIN_PCT,
    PROFILES,
    REQUESTS,
    VISITS,
    ShapesRequest,
    Sweep,
    parse_sizes,
    parse_sweep,
    parse_weight,
)


@verb(
    "shapes",
    "Find the batch size above which throughput hardly grows",
    "enginescope shapes model.onnx --batch 1,2,4,8,16,32 --html shapes.html",
    "Propose two optimization profiles where batch 1 is most of the traffic",
    "enginescope shapes model.onnx --weight 1=9 --weight 8=1 --profiles 2",
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@on_option(
    "Backend to measure on: TensorRT or ONNX Runtime.  [default: ort-cpu; trt for an engine]"
)
@option(
    "--batch",
    type=Parsed("SIZES", parse_sizes),
    help=f"Batch sizes: a list, or FROM:TO:STEP.  [default: {','.join(map(str, BATCHES))}]",
)
@option(
    "--sweep",
    type=Parsed("NAME=SIZES", parse_sweep),
    help="Sizes of a named dimension, or whole shapes of an input, instead of batch sizes.",
)
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of another input.")
@dims_option
@option(
    "--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers for an input."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order of shapes.")
@option(
    "--graph",
    type=click.Choice(("auto", "off")),
    default="auto",
    help="Use CUDA graphs on TensorRT, captured after each change; off: run without.",
)
@option(
    "--gain",
    type=Finite(0, 100, min_open=True),
    default=GAIN_PCT,
    help="Gain in throughput, in percent, that no shape above the knee reaches.",
)
@option(
    "--weight",
    "weights",
    multiple=True,
    type=Parsed("SHAPE=WEIGHT", parse_weight),
    help="Share of the requests that have a shape, in any unit; repeat for several.",
)
@option("--trace", type=EXISTING, help="Read the sizes of requests in their order, one per line.")
@count_option("--profiles", PROFILES, "Number of optimization profiles to propose.")
@rounds_option("Number of fresh processes; each runs all shapes.")
@count_option("--visits", VISITS, "Number of changes to each shape per process.")
@count_option(
    "--requests", REQUESTS, "Requests after each change; fewer where they take longer than 250 ms."
)
@option("--csv", type=FILE, help="Write the shapes as CSV to FILE.")
@report_options
def command(model: Path, **options: Any) -> int:
    """Measure MODEL with several shapes, and the cost of a change of shape.

    Every fresh process loads MODEL once and changes between all shapes in random order. The result
    is the knee: above this shape, throughput hardly grows. The first request after a change is
    compared with a request that follows no change. enginescope proposes optimization profiles from
    the times and the weights of the shapes.
    """
    from enginescope.render.shapes.shapes_answer import shapes_answer

    check_files(options, model)
    progress = RoundsProgress()
    with measuring(progress, can_continue=True):
        report = sweep_shapes(_request(model, options), progress)
    answered = shapes_answer(report)
    steps = [("build", answered.command)] if answered.command else []
    present_answer(answered, options, *steps, runs_step(options, report.comparison))
    return exit_code(progress)


def _request(model: Path, options: dict[str, Any]) -> ShapesRequest:
    sizes, sweep = options["batch"], options["sweep"]
    if sizes is not None and sweep is not None:
        raise UsageError("`batch` and `sweep`", why="one dimension changes at a time")
    return ShapesRequest(
        model=model,
        sweep=sweep or Sweep(name="batch", sizes=sizes or BATCHES),
        gain_pct=options["gain"],
        weights=dict(options["weights"]) or None,
        workload=Workload(
            seed=options["seed"],
            shapes=options["shapes"],
            ranges=options["ranges"],
            dims=options["dims"],
            mode=Mode(cuda_graph=False) if options["graph"] == "off" else Mode(),
        ),
        **process_fields(options, "backend", "trace", "profiles", "rounds", "visits", "requests"),
    )
