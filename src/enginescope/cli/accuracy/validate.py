"""``enginescope validate``: do models and engines still give the right outputs?"""

import math
from pathlib import Path
from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.accuracy.validate_options import (
    PERCENTAGE,
    TOLERANCE,
    WIDE_SHAPE,
    image_options,
    parse_pair,
    preprocessing_of,
)
from enginescope.cli.options import (
    DURATION_MS,
    FOLDER,
    INPUT,
    PATH,
    SIZE,
    Parsed,
    dims_option,
    json_option,
    option,
    page_options,
    store_option,
)
from enginescope.cli.report_output import check_files, present_answer
from enginescope.cli.verb import EXIT_RUN_FAILED, verb
from enginescope.core.errors import UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Limits
from enginescope.services.accuracy.request import ValidateRequest


def parse_limit(text: str) -> tuple[str, float]:
    """Return ``METRIC:NUMBER``."""
    name, colon, number = text.rpartition(":")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not colon or not name or not math.isfinite(value):
        raise UsageError(f"{text!r} is not METRIC:NUMBER", hint="as in abs_rel:0.12 or top1:75")
    return name, value


EXIT_WRONG = 1
_PAGE = ("one page", "add --html FILE")


@verb(
    "validate",
    "Compare an FP16 engine with its ONNX model",
    "enginescope validate model.onnx --on trt:fp16 --tolerance fp16",
    "Find where an error starts",
    "enginescope validate model.onnx --on trt:fp16 --bisect",
)
@click.argument("models", nargs=-1, required=True, type=PATH)
@process_options.declared_options(ValidateRequest)
@process_options.seed_option
@option(
    "--input-shape,--shape shapes",
    "Set the shape of an input; repeat an input for a second set of samples.",
    WIDE_SHAPE,
    multiple=True,
)
@dims_option
@process_options.batch_option
@option(
    "--map map",
    "Compare an output with a reference output of another name; repeat for several.",
    Parsed("OUTPUT=REFERENCE", parse_pair),
    multiple=True,
)
@option("--input files", "Fix the values of an input in all samples.", INPUT, multiple=True)
@process_options.range_option
@option("--rtol", "Relative tolerance, for all outputs or one.", TOLERANCE, multiple=True)
@option("--atol", "Absolute tolerance, for all outputs or one.", TOLERANCE, multiple=True)
@option(
    "--percent-mismatch",
    "Percentage of elements that may exceed atol + rtol × |reference|.",
    PERCENTAGE,
    multiple=True,
)
@option(
    "--limit task_limits",
    "Worst accepted value of a task metric, as abs_rel:0.12.",
    Parsed("METRIC:NUMBER", parse_limit),
    heading="Comparing",
    multiple=True,
)
@image_options
@option(
    "--timeout",
    "Time limit per model and backend.  [default: 4h]",
    DURATION_MS,
    default="4h",
    show_default=False,
)
@option("--memory-limit", "Memory limit per model and backend.", SIZE)
@option(
    "--output -o output",
    "Folder for output_diff.json, per_sample_diff.json, validate.html and samples/.",
    FOLDER,
)
@page_options
@store_option
@json_option
def command(models: tuple[Path, ...], **options: Any) -> int:
    """Compare the outputs of MODELS with a reference, on the same inputs.

    Every model and backend runs in a fresh process. Exit code 1 means that an output exceeds its
    tolerances, or a task metric exceeds its limit.
    """
    from enginescope.cli.accuracy.validation_progress import ValidationProgress
    from enginescope.render.validation.validate_answer import validate_answer
    from enginescope.services.validation.validate import validate_models

    check_files(options, *models)
    with temporary_folder() as folder:
        # a page shows values that only the files of a folder have
        is_page = bool(options["html"]) and not options["output"]
        output = folder / "page" if is_page else options["output"]
        skips = is_page or options["skip_output_save"]
        limits = Limits(timeout_s=options["timeout"] / 1e3, memory_bytes=options["memory_limit"])
        request = process_options.request_of(
            ValidateRequest,
            options,
            models=models,
            preprocessing=preprocessing_of(options),
            task_limits=dict(options["task_limits"]),
            map=dict(options["map"]),
            limits=limits,
            output=output,
            skip_output_save=skips,
        )
        # told to end, the folder of samples goes too
        with ValidationProgress() as progress:
            result = validate_models(request, progress)
        page = (output / "validate.html").read_bytes() if options["html"] else b""
    own = options["output"]
    after = ("open", str(own.resolve() / "validate.html")) if own else _PAGE
    steps = () if options["html"] or options["markdown"] else (after,)
    present_answer(validate_answer(result), options, *steps, html=lambda: page)
    if any(side.failure for side in result.sides) or not result.is_complete:
        return EXIT_RUN_FAILED
    return 0 if result.passes else EXIT_WRONG
