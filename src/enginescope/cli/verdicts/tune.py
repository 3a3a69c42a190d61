"""``enginescope tune``: which options make a model fastest, and is the winner real?"""

from pathlib import Path
from typing import Any

import click

from enginescope.cli.options import PATH
from enginescope.cli.process_options import declared_options, request_of, search_options
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step, step
from enginescope.cli.verb import verb
from enginescope.records.progress import COMPARISON_TAG
from enginescope.services.tune.alternatives import TuneRequest
from enginescope.services.tune.tune import tune_options


@verb(
    "tune",
    "Try numbers of threads of ONNX Runtime, two minutes at most",
    "enginescope tune model.onnx --option intra_op_num_threads=1,2 --max-time 2min",
    "Try precisions and batch sizes on TensorRT; figures are per item",
    "enginescope tune model.onnx --on trt --on trt:fp16 --batch 1,4,16",
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@declared_options(TuneRequest)
@search_options
def command(model: Path, **options: Any) -> int:
    """Find the options that make MODEL fastest, and measure the winner anew.

    Outputs are checked first: an alternative whose outputs differ from the default's is excluded.
    Rounds of fresh processes then drop the slower half of the alternatives, as far as there is
    evidence. Fresh builds and other inputs compare the leader with the default. Only this
    confirmation decides: among equals, at most 5 % of searches claim a winner.
    """
    from enginescope.render.tune.tune_answer import tune_answer

    check_files(options, model)
    values: dict[str, tuple[str, ...]] = {}
    for name, some in options["options"]:
        values[name] = (*values.get(name, ()), *some)
    request = request_of(TuneRequest, options, model=model, options=values)
    with measuring(progress := ProcessProgress(), can_continue=True):
        report = tune_options(request, progress)
    steps = [runs_step(options, report.comparison, "the search")]
    if report.confirmation is not None and report.confirmation.comparison is not None:
        tag = f"{COMPARISON_TAG}{report.confirmation.comparison}"
        steps.insert(0, step(options, "the confirmation", "compare", tag))
    present_answer(tune_answer(report), options, *steps)
    return exit_code(progress)
