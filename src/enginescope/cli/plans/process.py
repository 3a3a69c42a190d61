"""``enginescope process``: trex's workflow in one command, with trex's file names."""

from typing import Any

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.messages import next_steps
from enginescope.cli.options import FOLDER, PATH, option
from enginescope.cli.process_options import picked
from enginescope.cli.report_output import step
from enginescope.cli.verb import verb


@verb(
    "process",
    "Build, measure and profile in FP16",
    "enginescope process model.onnx results/ --fp16",
    "Set the input shape, and pack all files",
    "enginescope process model.onnx results/ --archive --shapes=input:8x3x224x224",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("model", type=PATH)
@click.argument("folder", type=FOLDER)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@option(
    "--on",
    "Build and run with trt or trt-rtx, and these options.",
    default="trt",
    shell_complete=complete_backends,
)
@option("--archive", "Also write MODEL.engine.tea with all files.", is_flag=True)
@option("--store store_folder", "Store the run in this folder.", click.Path(file_okay=False))
def command(**options: Any) -> None:
    """Build MODEL, measure and profile it, and write all files that trex reads to FOLDER.

    Both steps use FLAGS as trtexec flags: --fp16 --shapes=input:8x3x224x224. FOLDER receives
    MODEL.engine, .build.log, .build.metadata.json, .graph.json, .profile.json, .timing.json,
    .profile.log and .profile.metadata.json.
    """
    from enginescope.cli.terminal_observer import NotingObserver
    from enginescope.services.plans.process import ProcessRequest, process_model

    request = ProcessRequest(
        is_archived=options["archive"],
        store=options["store_folder"],
        **picked(options, "model", "folder", "flags", "on"),
    )
    result = process_model(request, NotingObserver())
    for file in result.files:
        print(file)
    if result.run_id:
        next_steps(step(options, "report", "report", result.run_id[:8]))
