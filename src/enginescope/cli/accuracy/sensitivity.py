"""``enginescope sensitivity``: which layers may be FP16 or INT8, and which stay in FP32?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from enginescope.cli.options import (
    COUNT,
    FILE,
    FROM_0,
    PATH,
    Finite,
    check_outputs,
    dims_option,
    option,
)
from enginescope.cli.process_options import (
    on_option,
    picked,
    process_fields,
    process_workload,
    rounds_end_options,
    shape_option,
    stop_options,
    stored_options,
    timeout_option,
)
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import end_report, present_report, step
from enginescope.cli.verb import Verb
from enginescope.judge.comparison.ratio import MOST_ROUNDS
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.verdict.sensitivity import Granularity, LowerPrecision
from enginescope.services.accuracy.request import SampleRequest
from enginescope.services.sensitivity.request import LEAST_ROUNDS, ROUNDS, SensitivityRequest
from enginescope.services.sensitivity.sensitivity import measure_sensitivity


@click.command(
    "sensitivity",
    cls=Verb,
    examples=(
        (
            "Find the layers to keep in FP32, five minutes at most",
            "enginescope sensitivity model.onnx --max-time 5min --html layers.html",
        ),
        (
            "Find the blocks that INT8 harms; the images also calibrate it",
            "enginescope sensitivity model.onnx --to int8 --by block --data samples/",
        ),
    ),
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
@option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MOST_ROUNDS),
    default=ROUNDS,
    help="Fresh processes of each model that is timed.",
)
@rounds_end_options
@timeout_option
@option("--markdown", type=FILE, help="Write the result and its tables as Markdown to FILE.")
@option("--csv", "csv_file", type=FILE, help="Write layers and models as CSV to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@stored_options
def command(model: Path, **options: Any) -> int:
    """Measure each layer of MODEL in FP16 or INT8, and find the layers to keep in FP32.

    Each layer alone is converted, with the others in FP32. Its outputs are compared with those of
    FP32, and its time is measured in interleaved rounds. Then more and more layers are converted
    together, the least error per time saved first.
    """
    from enginescope.render.base.text import show_answer
    from enginescope.render.sensitivity.sensitivity_writers import (
        sensitivity_answer,
        sensitivity_csv,
        sensitivity_json,
        sensitivity_markdown,
        sensitivity_page,
    )

    files = [options["markdown"], options["csv_file"], options["html"]]
    check_outputs(files, [str(model)])
    progress = ProcessProgress()
    with measuring(progress, can_continue=True):
        report = measure_sensitivity(_request(model, options), progress)
    present_report(
        report,
        options,
        document=sensitivity_json,
        screen=lambda report: show_answer(sensitivity_answer(report, names_first=False)),
        markdown=sensitivity_markdown,
        csv_file=sensitivity_csv,
        html=sensitivity_page,
    )
    tags = [f"{COMPARISON_TAG}{comparison}" for comparison in report.comparisons[-1:]]
    steps = [step(options, "the runs", "runs list", "--tag", tag) for tag in tags]
    end_report(options, *steps, opened=("html", "csv_file", "markdown"))
    return exit_code(progress)


def _request(model: Path, options: dict[str, Any]) -> SensitivityRequest:
    return SensitivityRequest(
        model=model,
        samples=SampleRequest(data=options["data"], count=options["samples"]),
        workload=process_workload(options),
        **picked(options, "to", "by", "backend", "max_error", "rounds"),
        **process_fields(options),
    )
