"""``enginescope depth``: depth-estimation models compared by speed, GPU, agreement and error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.accuracy.validate_options import FILTERS
from enginescope.cli.messages import next_steps
from enginescope.cli.options import DURATION_MS, FILE, PATH, Finite, dims_option, option
from enginescope.cli.process_options import declared_options, request_of, stored_options
from enginescope.cli.report_output import print_json, step
from enginescope.cli.verb import EXIT_RUN_FAILED, Verb, verb
from enginescope.records.run.job import TelemetryRule
from enginescope.records.run.sample_set import NORMALIZATIONS, Preprocessing
from enginescope.services.accuracy.request import DepthRequest

if TYPE_CHECKING:
    from enginescope.analysis.tasks.depth_agreement import DepthBenchmark


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


@verb(
    "depth",
    "Compare two models on one image",
    "enginescope depth --engines base.onnx small.onnx --image street.png",
    "Measure the error against ground truth",
    "enginescope depth --engines model.onnx --image street.png --gt depth.npy",
    cls=DepthCommand,
)
@option(
    "--engines",
    "Engines or ONNX models to compare; the first is the reference.",
    PATH,
    multiple=True,
    required=True,
    metavar="MODEL...",
)
@option("--image", "Image to time and draw.", FILE, required=True)
@declared_options(DepthRequest)
@dims_option
@option(
    "--gpu-sample-interval",
    "Seconds between two samples of the GPU in the telemetry pass.",
    Finite(0.005),
    default=0.1,
)
@option("--telemetry-time", "Duration of the telemetry pass.  [default: 20s]", DURATION_MS)
@option(
    "--normalize,--normalise normalise",
    "Normalize images: ImageNet mean and deviation, 0…1, or −1…1.",
    click.Choice(["imagenet", "plain", "signed"]),
    default="imagenet",
)
@option(
    "--image-filter",
    "Resize images with this filter of Pillow or OpenCV.",
    click.Choice(FILTERS),
    default="opencv-bicubic",
)
@option(
    "--timeout",
    "Time limit per model.  [default: 4h]",
    DURATION_MS,
    default="4h",
    show_default=False,
)
@stored_options
def command(**options: Any) -> int:
    """Compare depth-estimation models: latency, GPU use, agreement and ground-truth error.

    Writes depth_comparison.png, speed_benchmark.png, depth.json, and gpu_utilization.png of a GPU.
    enginescope measures every model in a fresh process, and stores the runs like those of bench.
    """
    from enginescope.cli.accuracy.validation_progress import DepthProgress
    from enginescope.cli.verb import saying_what_stands
    from enginescope.services.accuracy.depth import depth_models

    progress = DepthProgress()
    with saying_what_stands(progress.standing), progress:
        result = depth_models(_request(options), progress)
    _present(result, options)
    progress.print_notes()
    failed = any(side.view.run.outcome.kind.value != "ok" for side in result.sides)
    return EXIT_RUN_FAILED if failed or not result.is_stored else 0


def _request(options: dict[str, Any]) -> DepthRequest:
    mean, std = NORMALIZATIONS[options["normalise"]]
    telemetry = TelemetryRule(
        depth="full",
        duration_ms=options["telemetry_time"] or TelemetryRule().duration_ms,
        interval_ms=1e3 * options["gpu_sample_interval"],
    )
    return request_of(
        DepthRequest,
        options,
        models=options["engines"],
        telemetry=telemetry,
        preprocessing=Preprocessing(filter=options["image_filter"], mean=mean, std=std),
    )


def _present(result: DepthBenchmark, options: dict[str, Any]) -> None:
    if options["as_json"]:
        from enginescope.render.depth.depth_answer import depth_json

        print_json(depth_json(result))
        return
    from enginescope.render.base.text import screen_width, show
    from enginescope.render.depth.depth_answer import depth_text

    show(depth_text(result, tuple(map(str, result.files)), width=screen_width()))
    runs = [side.view.id[:6] for side in result.sides]
    verb, purpose = ("compare", "which is faster") if len(runs) > 1 else ("report", "report")
    next_steps(step(options, purpose, verb, *runs))
