"""``enginescope sensitivity``: which layers may be FP16 or INT8, and which stay in FP32?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from enginescope.cli.options import COUNT, FILE, FROM_0, PATH, Finite, dims_option, option
from enginescope.cli.process_options import (
    on_option,
    process_fields,
    process_workload,
    report_options,
    rounds_option,
    shape_option,
    stop_options,
)
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
from enginescope.records.verdict.sensitivity import Granularity, LowerPrecision
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.sensitivity.search import SensitivityRequest
from enginescope.services.sensitivity.sensitivity import measure_sensitivity


@verb(
    "sensitivity",
    "Find the layers to keep in FP32, five minutes at most",
    "enginescope sensitivity model.onnx --max-time 5min --html layers.html",
    "Find the blocks that INT8 harms; the images also calibrate it",
    "enginescope sensitivity model.onnx --to int8 --by block --data samples/",
)
@click.argument("model", type=PATH, metavar="MODEL")
@option(
    "--to",
    type=click.Choice(get_args(LowerPrecision)),
    default="fp16",
    help="Precision to convert to. INT8 is ONNX Runtime's static quantization.",
)
@option(
    "--by",
    type=click.Choice(get_args(Granularity)),
    default="layer",
    help="Convert one node that computes, or all nodes of a block, at a time.",
)
@on_option(
    "Backend in FP32: ONNX Runtime, or TensorRT up to version 10 for FP16.", default="ort-cpu"
)
@option(
    "--data", multiple=True, type=PATH, help="Samples to compare; INT8 is calibrated with them."
)
@option("--samples", type=COUNT, help="Number of samples to compare.  [default: 8]")
@option(
    "--max-error",
    type=Finite(0, min_open=True),
    metavar="NUMBER",
    help="Pass a model with an error ÷ spread up to this, instead of the limits of validate.",
)
@shape_option
@dims_option
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order.")
@stop_options
@rounds_option("Fresh processes of each model that is timed.")
@option("--csv", type=FILE, help="Write layers and models as CSV to FILE.")
@report_options
def command(model: Path, **options: Any) -> int:
    """Measure each layer of MODEL in FP16 or INT8, and find the layers to keep in FP32.

    Each layer alone is converted, with the others in FP32. Its outputs are compared with those of
    FP32, and its time is measured in interleaved rounds. Then more and more layers are converted
    together, the least error per time saved first.
    """
    from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer

    check_files(options, model)
    request = SensitivityRequest(
        model=model,
        samples=SampleRequest(data=options["data"], count=options["samples"]),
        workload=process_workload(options),
        **process_fields(options, "to", "by", "backend", "max_error", "rounds"),
    )
    progress = ProcessProgress()
    with measuring(progress, can_continue=True):
        report = measure_sensitivity(request, progress)
    steps = [runs_step(options, comparison) for comparison in report.comparisons[-1:]]
    present_answer(sensitivity_answer(report), options, *steps)
    return exit_code(progress)
