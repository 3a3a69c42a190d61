"""``enginescope noise``: a model against itself, and what differences that leaves to be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from enginescope.cli.compare_options import rounds_option
from enginescope.cli.messages import note
from enginescope.cli.options import DURATION_MS, PATH, SHAPE, dims_option, option
from enginescope.cli.process_options import (
    batch_option,
    on_option,
    rounds_end_options,
    stored_fields,
    stored_options,
)
from enginescope.cli.report_output import present_answer
from enginescope.cli.verb import EXIT_RUN_FAILED, verb
from enginescope.judge.comparison.ratio import FLOOR_ROUNDS


@verb(
    "noise",
    "Measure the noise floor with a small sample",
    "enginescope noise",
    "Measure the noise floor of your own model",
    "enginescope noise model.onnx --duration 2s",
)
@click.argument("model", required=False, type=PATH)
@on_option("Backend to measure on.  [default: ort-cpu; trt for an engine]")
@option(
    "--shape",
    "shapes",
    multiple=True,
    type=SHAPE,
    help="Set the shape of an input; repeat for several.",
)
@dims_option
@batch_option
@rounds_option(FLOOR_ROUNDS)
@rounds_end_options
@option("--duration", type=DURATION_MS, help="Measuring time per process.  [default: 1s]")
@stored_options
def command(model: Path | None, **options: Any) -> int:
    """Compare MODEL with itself, and report the smallest difference this machine can detect.

    Both sides are the same job, interleaved, in fresh processes. `compare` and `bench --compare`
    use the recorded noise floor. Without MODEL, enginescope measures a small sample.
    """
    from enginescope.cli.measure.bench_comparison import RoundsProgress
    from enginescope.cli.progress import exit_code, measuring
    from enginescope.cli.run_output import present
    from enginescope.records.run.job import StopRule, Workload
    from enginescope.render.verdicts.noise_answer import noise_answer
    from enginescope.services.measurement.interleaved import paced_workload
    from enginescope.services.measurement.noise import measure_noise
    from enginescope.services.measurement.rounds import InterleavedRequest

    duration = options["duration"]
    stop = StopRule() if duration is None else StopRule(duration_ms=duration, precision_pct=None)
    workload = Workload(
        batch=options["batch"], shapes=options["shapes"], dims=options["dims"], stop=stop
    )
    request = InterleavedRequest(
        models=(model,) if model else (),
        backends=(options["backend"],) if options["backend"] else (),
        workload=paced_workload(workload),
        rounds=options["rounds"],
        continues=options["continues"],
        max_time_s=options["max_time_s"],
        **stored_fields(options),
    )
    progress = RoundsProgress()
    with measuring(progress, can_continue=True):
        result = measure_noise(request, progress)
    if progress.interruption is None and result.floor is None:
        present(result.measured.failed, options)
    elif result.floor is not None and result.measured.comparison is not None:
        present_answer(noise_answer(result.floor, result.measured.comparison), options)
    if result.recorded is not None:
        note(f"recorded: {result.recorded}")
    if result.not_recorded is not None:
        progress.warn(result.not_recorded)
    is_fine = result.recorded is not None and result.measured.is_stored
    return exit_code(progress, 0 if is_fine else EXIT_RUN_FAILED)
