"""``enginescope shapes``: which shapes to run and build for."""

from pathlib import Path
from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.options import PATH, dims_option, option
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
from enginescope.records.run.job import Mode
from enginescope.services.shapes.shapes import ShapesRequest, sweep_shapes


@verb(
    "shapes",
    "Find the batch size above which throughput hardly grows",
    "enginescope shapes model.onnx --batch 1,2,4,8,16,32 --html shapes.html",
    "Propose two optimization profiles where batch 1 is most of the traffic",
    "enginescope shapes model.onnx --weight 1=9 --weight 8=1 --profiles 2",
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@process_options.declared_options(ShapesRequest)
@process_options.shape_option
@dims_option
@process_options.range_option
@process_options.seed_option
@option(
    "--graph cuda_graph",
    "Use CUDA graphs on TensorRT, captured after each change; off: run without.",
    click.Choice(("auto", "off")),
    default="auto",
)
@process_options.table_report_options
def command(model: Path, **options: Any) -> int:
    """Measure MODEL with several shapes, and the cost of a change of shape.

    Every fresh process loads MODEL once and changes between all shapes in random order. The result
    is the knee: above this shape, throughput hardly grows. The first request after a change is
    compared with a request that follows no change. enginescope proposes optimization profiles from
    the times and the weights of the shapes.
    """
    from enginescope.render.shapes.shapes_answer import shapes_answer

    check_files(options, model)
    mode = Mode(cuda_graph=False) if options["cuda_graph"] == "off" else Mode()
    request = process_options.request_of(
        ShapesRequest, options | {"mode": mode}, model=model, weights=dict(options["weights"])
    )
    with measuring(progress := RoundsProgress(), can_continue=True):
        report = sweep_shapes(request, progress)
    answered = shapes_answer(report)
    steps = [("build", answered.data["build"])] if answered.data["build"] else []
    present_answer(answered, options, *steps, runs_step(options, report.comparison))
    return exit_code(progress)
