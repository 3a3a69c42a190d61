"""``enginescope build``: build an ONNX model into a TensorRT engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.exit_codes import EXIT_RUN_FAILED
from enginescope.cli.measure.build_options import build_options, options_of
from enginescope.cli.options import (
    DURATION_MS,
    SHAPE,
    SIZE,
    dims_option,
    json_option,
    note,
    store_option,
)
from enginescope.records.run.job import Workload
from enginescope.records.run.run import OutcomeKind

if TYPE_CHECKING:
    from enginescope.services.measurement.build import BuildResult


@click.command("build")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The engine's file."
)
@click.option("--on", "backend", default="trt", show_default=True, help="trt, trt:fp16, …")
@dims_option
@click.option("--shape", "shapes", multiple=True, type=SHAPE, help="The only shape of an input.")
@click.option("--batch", type=click.IntRange(1), help="Size of dynamic first dimensions.")
@build_options
@click.option("--rebuild", is_flag=True, help="Build anew, whatever the cache has.")
@click.option("--timeout", type=DURATION_MS, help="Of the build.  [default: 2h]")
@click.option("--memory-limit", type=SIZE, help="Of the build.  [default: 90 % of free memory]")
@store_option
@json_option
def command(model: Path, output: Path | None, backend: str, **options: Any) -> int:
    """Build MODEL into an engine, and write its plan, metadata and log beside it.

    Engines are cached by model, options, TensorRT, GPU and driver: the second call takes the kept
    one.
    """
    from enginescope.cli.measure.bench import command_line
    from enginescope.cli.progress import JobProgress
    from enginescope.cli.termination import ending_in_order
    from enginescope.services.measurement.build import BuildRequest, build_engine

    request = BuildRequest(
        model=model,
        engine=output or model.with_suffix(".engine"),
        backend=backend,
        options=options_of(options),
        workload=Workload(batch=options["batch"], shapes=options["shapes"], dims=options["dims"]),
        timeout_s=options["timeout"] and options["timeout"] / 1e3,
        memory_bytes=options["memory_limit"],
        rebuild=options["rebuild"],
        store=options["store_folder"],
        command=command_line(),
    )
    with ending_in_order(), JobProgress(quiet=options["as_json"]) as progress:
        result = build_engine(request, progress)
    _present(result, as_json=options["as_json"])
    return 0 if result.run.outcome.kind is OutcomeKind.OK else EXIT_RUN_FAILED


def _present(result: BuildResult, *, as_json: bool) -> None:
    from enginescope.core.jsonio import encode
    from enginescope.render.base.text import show
    from enginescope.render.plans.build_text import build_text

    run, files = result.run, [str(file) for file in result.files]
    if as_json:
        data = {"outcome": run.outcome, "build": run.build, "notices": run.notices}
        sys.stdout.buffer.write(encode({"files": files, **data}))
        return
    show(build_text(run))
    for file in files:
        note(f"wrote {file}")
