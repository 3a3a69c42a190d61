"""``enginescope sensitivity``: which layers may be FP16 or INT8, and which stay in FP32?"""

from pathlib import Path
from typing import Any

import click

from enginescope.cli.options import PATH
from enginescope.cli.process_options import declared_options, request_of, search_options
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
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
@declared_options(SensitivityRequest)
@search_options
def command(model: Path, **options: Any) -> int:
    """Measure each layer of MODEL in FP16 or INT8, and find the layers to keep in FP32.

    Each layer alone is converted, with the others in FP32. Its outputs are compared with those of
    FP32, and its time is measured in interleaved rounds. Then more and more layers are converted
    together, the least error per time saved first.
    """
    from enginescope.render.sensitivity.sensitivity_answer import sensitivity_answer

    check_files(options, model)
    request = request_of(SensitivityRequest, options, model=model)
    with measuring(progress := ProcessProgress(), can_continue=True):
        report = measure_sensitivity(request, progress)
    steps = [runs_step(options, comparison) for comparison in report.comparisons[-1:]]
    present_answer(sensitivity_answer(report), options, *steps)
    return exit_code(progress)
