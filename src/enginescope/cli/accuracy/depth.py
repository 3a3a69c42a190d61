"""``enginescope depth``: depth-estimation models compared by speed, GPU, agreement and error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.accuracy.validate_options import FILTERS, MOST_PIXELS
from enginescope.cli.completion import complete_backends
from enginescope.cli.messages import next_steps
from enginescope.cli.options import (
    ABOVE_0,
    COUNT,
    DURATION_MS,
    FILE,
    FOLDER,
    FROM_0,
    PATH,
    Finite,
    dims_option,
    option,
)
from enginescope.cli.process_options import picked, stored_fields, stored_options
from enginescope.cli.report_output import print_json, step
from enginescope.cli.verb import EXIT_RUN_FAILED, Verb, naming_flags
from enginescope.core.record import replace
from enginescope.records.run.job import Limits, TelemetryRule
from enginescope.records.run.sample_set import NORMALIZATIONS, Preprocessing

if TYPE_CHECKING:
    from enginescope.analysis.tasks.depth_agreement import DepthBenchmark
    from enginescope.services.accuracy.request import DepthRequest


class DepthCommand(Verb):
    """The verb; ``--engines`` takes all that follows it up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say ``--engines`` again before each further one."""
        return super().parse_args(ctx, _repeated(args, ("--engines", "--on")))


def _repeated(args: list[str], names: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    open_name, has_value = None, False
    for one in args:
        if one in names:
            open_name, has_value = one, False
        elif one.startswith("-"):
            open_name = None
        elif open_name is not None:
            found += [open_name] if has_value else []
            has_value = True
        found.append(one)
    return found


@click.command(
    "depth",
    cls=DepthCommand,
    examples=(
        (
            "Compare two models on one image",
            "enginescope depth --engines base.onnx small.onnx --image street.png",
        ),
        (
            "Measure the error against ground truth",
            "enginescope depth --engines model.onnx --image street.png --gt depth.npy",
        ),
    ),
)
@option(
    "--engines",
    multiple=True,
    required=True,
    metavar="MODEL...",
    type=PATH,
    help="Engines or ONNX models to compare; the first is the reference.",
)
@option("--image", required=True, type=FILE, help="Image to time and draw.")
@option("--gt", type=FILE, help="Ground-truth depth of --image.")
@option(
    "--metric-images-dir",
    type=FOLDER,
    help="Average the metrics over the images in this folder, instead of --image alone.",
)
@option(
    "--metric-gt-dir",
    type=FOLDER,
    help="Ground-truth depth of these images, matched by base name: npy, npz, pfm, png.",
)
@option(
    "--input-size",
    type=click.IntRange(1, MOST_PIXELS),
    help="Height and width of the input in pixels.  [default: the model's own; 518 if dynamic]",
)
@dims_option
@option("--warmup", type=FROM_0, default=50, help="Warm up for at least this many iterations.")
@option("--iterations", type=COUNT, default=1000, help="Stop after exactly this many iterations.")
@option(
    "--gpu-sample-interval",
    type=Finite(0.005),
    default=0.1,
    help="Seconds between two samples of the GPU in the telemetry pass.",
)
@option(
    "--telemetry-time", type=DURATION_MS, help="Duration of the telemetry pass.  [default: 20s]"
)
@option("--gpu-id", type=FROM_0, default=0, help="Index of the GPU to run on.")
@option(
    "--output-dir",
    type=FOLDER,
    default=Path("benchmark_results"),
    help="Folder for the plots and depth.json.",
)
@option(
    "--on",
    "backends",
    shell_complete=complete_backends,
    multiple=True,
    metavar="BACKEND...",
    help="Backend to run on; repeat for several.  [default: ort-cpu; trt for an engine]",
)
@option(
    "--gt-scale",
    type=ABOVE_0,
    default=1.0,
    show_default=False,
    help="Multiply ground-truth depth by this factor.  [default: 1]",
)
@option(
    "--min-depth", type=ABOVE_0, default=1e-3, help="Ignore ground-truth depth below this value."
)
@option("--max-depth", type=ABOVE_0, help="Ignore ground-truth depth above this value.")
@option(
    "--align",
    type=click.Choice(["median", "scale-shift", "none"]),
    default="median",
    help="Align each depth map with ground truth before comparing.",
)
@option(
    "--disparity", is_flag=True, help="Treat model outputs as disparity: larger values are nearer."
)
@option(
    "--normalize",
    "--normalise",
    "normalise",
    type=click.Choice(["imagenet", "plain", "signed"]),
    default="imagenet",
    help="Normalize images: ImageNet mean and deviation, 0…1, or −1…1.",
)
@option(
    "--image-filter",
    type=click.Choice(FILTERS),
    default="opencv-bicubic",
    help="Resize images with this filter of Pillow or OpenCV.",
)
@option(
    "--fail-fast",
    is_flag=True,
    help="Stop at the first unreadable image or depth file, instead of skipping it.",
)
@option(
    "--output-name",
    help="Name of the depth output.  [default: the first output of a suitable shape]",
)
@option(
    "--timeout",
    type=DURATION_MS,
    default="4h",
    show_default=False,
    help="Time limit per model.  [default: 4h]",
)
@stored_options
@naming_flags()
def command(**options: Any) -> int:
    """Compare depth-estimation models: latency, GPU use, agreement and ground-truth error.

    Writes depth_comparison.png, speed_benchmark.png, depth.json, and gpu_utilization.png of a GPU.
    enginescope measures every model in a fresh process, and stores the runs like those of bench.
    """
    from enginescope.cli.accuracy.validation_progress import DepthProgress
    from enginescope.cli.verb import ending_in_order, saying_what_stands
    from enginescope.services.accuracy.depth import depth_models

    progress = DepthProgress()
    with ending_in_order(), saying_what_stands(progress.standing), progress:
        result = depth_models(_request(options), progress)
    _present(result, options)
    progress.print_notes()
    failed = any(side.view.run.outcome.kind.value != "ok" for side in result.sides)
    return EXIT_RUN_FAILED if failed or not result.is_stored else 0


def _request(options: dict[str, Any]) -> DepthRequest:
    from enginescope.services.accuracy.request import DepthRequest, depth_workload

    mean, std = NORMALIZATIONS[options["normalise"]]
    workload = depth_workload(options["warmup"], options["iterations"])
    telemetry = TelemetryRule(
        depth="full",
        duration_ms=options["telemetry_time"] or TelemetryRule().duration_ms,
        interval_ms=1e3 * options["gpu_sample_interval"],
    )
    return DepthRequest(
        models=options["engines"],
        workload=replace(workload, dims=options["dims"]),
        telemetry=telemetry,
        preprocessing=Preprocessing(filter=options["image_filter"], mean=mean, std=std),
        limits=Limits(timeout_s=options["timeout"] / 1e3),
        **picked(
            options,
            *("backends", "image", "gt", "metric_images_dir", "metric_gt_dir", "input_size"),
            *("gpu_id", "output_dir", "gt_scale", "min_depth", "max_depth", "align", "disparity"),
            *("output_name", "fail_fast"),
        ),
        **stored_fields(options),
    )


def _present(result: DepthBenchmark, options: dict[str, Any]) -> None:
    if options["as_json"]:
        from enginescope.render.depth.depth_answer import depth_json

        print_json(depth_json(result))
        return
    from enginescope.render.base.text import screen_width, show
    from enginescope.render.depth.depth_answer import depth_text

    width = screen_width()
    show(depth_text(result, tuple(map(str, result.files)), width=width))
    runs = [side.view.id[:6] for side in result.sides]
    verb, purpose = ("compare", "which is faster") if len(runs) > 1 else ("report", "report")
    next_steps(step(options, purpose, verb, *runs))
