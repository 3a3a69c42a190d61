"""``enginescope validate``: do models and engines still give the right answers?

Options of ``validate``: figures of a task, and what to find out inside a side that fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.accuracy.validate_options import (
    PERCENTAGE,
    TOLERANCE,
    WIDE_SHAPE,
    image_options,
    parse_pair,
    preprocessing_of,
)
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    FOLDER,
    FROM_0,
    INPUT,
    PATH,
    RANGE,
    SIZE,
    Finite,
    Parsed,
    add_options,
    dims_option,
    json_option,
    option,
    page_options,
    store_option,
)
from enginescope.cli.process_options import batch_option, command_line, on_option, picked
from enginescope.cli.report_output import check_files, present_answer
from enginescope.cli.verb import EXIT_RUN_FAILED, verb
from enginescope.core.errors import UsageError
from enginescope.core.temporary_folder import temporary_folder
from enginescope.records.run.job import Limits, Workload

if TYPE_CHECKING:
    from enginescope.analysis.validation.validation import Validation
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


#: Add what a task needs.
task_options = add_options(
    option(
        "--task",
        metavar="NAME[?KEY=VALUE&…]",
        help="Also measure task metrics: depth, classification, segmentation, detection.",
    ),
    option(
        "--images",
        multiple=True,
        type=PATH,
        help="Use these images as samples: files, or folders searched recursively.",
    ),
    option(
        "--targets",
        type=PATH,
        help="Ground truth, matched by base name.  [default: the reference's outputs]",
    ),
    option(
        "--limit",
        "limits",
        multiple=True,
        type=Parsed("METRIC:NUMBER", parse_limit),
        help="Worst accepted value of a task metric, as abs_rel:0.12.",
    ),
)


#: Add the options of looking into the sides.
bisect_options = add_options(
    option("--bisect", is_flag=True, help="Find where inside the model an error starts."),
    option(
        "--suggest-precision",
        is_flag=True,
        help="Find which layers to keep in FP32: build and measure proposals. Implies --bisect.",
    ),
    option(
        "--marks",
        type=COUNT,
        help="Number of tensors to mark at once.  [default: all; 32 if each try is a build]",
    ),
    option(
        "--extract",
        metavar="DIR",
        type=PATH,
        help=(
            "Write the node where the error starts, its inputs and a script into an"
            " empty folder. Needs --bisect."
        ),
    ),
)


EXIT_WRONG = 1
#: More random ones than anybody waits for; a slip of the finger would fill the memory.
_MOST_SAMPLES = 1_000_000


@verb(
    "validate",
    "Compare an FP16 engine with its ONNX model",
    "enginescope validate model.onnx --on trt:fp16 --tolerance fp16",
    "Find where an error starts",
    "enginescope validate model.onnx --on trt:fp16 --bisect",
)
@click.argument("models", nargs=-1, required=True, type=PATH)
@on_option(
    "Backend to validate; repeat for several.  [default: ort-cpu; trt for an engine]", several=True
)
@option(
    "--reference",
    metavar="BACKEND|MODEL|ENGINE|DIR",
    help=(
        "Compare with this reference.  [default: a data set's outputs, else the"
        " first model on ort-cpu]"
    ),
)
@option(
    "--data",
    "data",
    multiple=True,
    type=PATH,
    help=(
        "Read samples: data sets, npy, npz, raw, pb, images, or folders of "
        "them.  [default: test_data_set_* in the first model's folder, else "
        "random]"
    ),
)
@option("--random", is_flag=True, help="Use random samples even if data exists.")
@option(
    "--samples",
    "count",
    type=click.IntRange(1, _MOST_SAMPLES),
    help="Number of random samples, or of the first samples in the data.  [default: 8; all]",
)
@option("--seed", type=FROM_0, default=0, help="Seed for random samples.")
@option(
    "--input-shape",
    "--shape",
    "shapes",
    multiple=True,
    type=WIDE_SHAPE,
    help="Set the shape of an input; repeat an input for a second set of samples.",
)
@dims_option
@batch_option
@option(
    "--map",
    "output_pairs",
    multiple=True,
    type=Parsed("OUTPUT=REFERENCE", parse_pair),
    help="Compare an output with a reference output of another name; repeat for several.",
)
@option(
    "--input", "files", multiple=True, type=INPUT, help="Fix the values of an input in all samples."
)
@option(
    "--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers for an input."
)
@option(
    "--tolerance",
    metavar="PRECISION",
    help="Use the tolerances of this precision: fp32, tf32, fp16, int8, …",
)
@option("--rtol", multiple=True, type=TOLERANCE, help="Relative tolerance, for all outputs or one.")
@option("--atol", multiple=True, type=TOLERANCE, help="Absolute tolerance, for all outputs or one.")
@option(
    "--percent-mismatch",
    "mismatch_pct",
    multiple=True,
    type=PERCENTAGE,
    help="Percentage of elements that may exceed atol + rtol × |reference|.",
)
@option(
    "--allow-nothing-compared",
    is_flag=True,
    help="Pass outputs that are empty or NaN in every sample.  [default: exit code 1]",
)
@option(
    "--percent",
    type=Finite(0),
    help="Count elements whose relative error exceeds this percentage.  [default: 1]",
)
@image_options
@option("--profile-index", type=FROM_0, help="Select the optimization profile of engines.")
@option("--rebuild", is_flag=True, help="Rebuild engines even if the cache has them.")
@option(
    "--timeout",
    type=DURATION_MS,
    default="4h",
    show_default=False,
    help="Time limit per model and backend.  [default: 4h]",
)
@option("--memory-limit", type=SIZE, help="Memory limit per model and backend.")
@option(
    "--output",
    "-o",
    "output",
    type=FOLDER,
    help="Folder for output_diff.json, per_sample_diff.json, validate.html and samples/.",
)
@option(
    "--fail-fast",
    is_flag=True,
    help="Stop at the first unreadable sample or target, instead of skipping it.",
)
@option("--skip-output-save", is_flag=True, help="Skip the samples/ folder in --output.")
@task_options
@bisect_options
@page_options
@store_option
@json_option
def command(models: tuple[Path, ...], backends: tuple[str, ...], **options: Any) -> int:
    """Compare the outputs of MODELS with a reference, on the same inputs.

    Every model and backend runs in a fresh process. Exit code 1 means that an output exceeds its
    tolerances, or a task metric exceeds its limit.
    """
    from enginescope.cli.accuracy.validation_progress import ValidationProgress
    from enginescope.cli.verb import ending_in_order
    from enginescope.render.validation.validate_answer import validate_answer
    from enginescope.services.validation.validate import validate_models

    check_files(options, *models)
    with temporary_folder() as folder:
        # a page shows values that only the files of a folder have
        is_page = bool(options["html"]) and not options["output"]
        output = folder / "page" if is_page else options["output"]
        skips = is_page or options["skip_output_save"]
        request = _request(models, backends, {**options, "output": output, "skip": skips})
        # told to end, the folder of samples goes too
        with ending_in_order(), ValidationProgress() as progress:
            result = validate_models(request, progress)
        page = (output / "validate.html").read_bytes() if options["html"] else b""
    present_answer(validate_answer(result), options, *_steps(result, options), html=lambda: page)
    if any(side.failure for side in result.sides) or not result.is_complete:
        return EXIT_RUN_FAILED
    return 0 if result.passes else EXIT_WRONG


def _request(
    models: tuple[Path, ...], backends: tuple[str, ...], options: dict[str, Any]
) -> ValidateRequest:
    from enginescope.analysis.errors.output_tolerance import ToleranceRequest
    from enginescope.services.accuracy.request import (
        BisectionRequest,
        SampleRequest,
        TaskRequest,
        ValidateRequest,
    )

    samples = picked(options, "data", "images", "random", "count", "image_input")
    workload = picked(options, "batch", "seed", "shapes", "files", "ranges", "dims")
    inside = picked(options, "bisect", "suggest_precision", "marks", "extract")
    return ValidateRequest(
        models=models,
        on=backends,
        samples=SampleRequest(**samples),
        workload=Workload(**workload),
        preprocessing=preprocessing_of(options),
        task=TaskRequest(
            name=options["task"], targets=options["targets"], limits=options["limits"]
        ),
        output_limits=ToleranceRequest(
            **picked(options, "rtol", "atol", "mismatch_pct", "percent")
        ),
        output_names=dict(options["output_pairs"]),
        bisection=BisectionRequest(**inside),
        limits=Limits(timeout_s=options["timeout"] / 1e3, memory_bytes=options["memory_limit"]),
        skip_output_save=options["skip"],
        store=options["store_folder"],
        command=command_line(),
        **picked(
            options,
            *("reference", "tolerance", "allow_nothing_compared", "fail_fast", "profile_index"),
            *("rebuild", "output"),
        ),
    )


def _steps(result: Validation, options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    written = options["html"] or options["markdown"]
    if options["output"] and not written:
        yield "open", str(options["output"].resolve() / "validate.html")
    elif not written:
        yield "one page", "add --html FILE"
    if not result.passes:
        yield "find where the error starts", "add --bisect"
