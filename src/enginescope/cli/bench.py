"""``enginescope bench``: measure models, each job in a fresh process."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from enginescope.cli.options import (
    COUNT_OR_DURATION,
    DURATION_MS,
    INPUT,
    RANGE,
    SHAPE,
    SIZE,
    json_option,
    note,
    store_option,
)
from enginescope.core.errors import UsageError
from enginescope.model.job import Limits, StopRule, WarmUp, Workload

EXIT_RUN_FAILED = 3


@click.command("bench")
@click.argument("models", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--on",
    "backends",
    multiple=True,
    default=("ort-cpu",),
    show_default=True,
    help="Backend, as NAME[:PRECISION][?KEY=VALUE&…]; repeat for several.",
)
@click.option("--shape", "shapes", multiple=True, type=SHAPE, help="Shape of an input.")
@click.option("--batch", type=click.IntRange(1), help="Size of dynamic first dimensions.")
@click.option("--input", "files", multiple=True, type=INPUT, help="npy, npz, raw or ONNX .pb.")
@click.option("--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers.")
@click.option(
    "--data",
    default="auto",
    show_default=True,
    help="Data set folder with input_*.pb; auto: test_data_set_* beside the model; none.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of random inputs.")
@click.option(
    "--warmup",
    multiple=True,
    type=COUNT_OR_DURATION,
    help="At least this time or count, until steady; 0: none.  [default: 200ms]",
)
@click.option("--iterations", type=click.IntRange(1), help="Stop after exactly so many.")
@click.option("--duration", type=DURATION_MS, help="Stop after this time.")
@click.option(
    "--precision",
    type=click.FloatRange(0.01, 50),
    default=0.5,
    show_default=True,
    help="Stop when the median's 95 % interval is within ± so many percent.",
)
@click.option("--max-time", type=DURATION_MS, help="Stop short of that after  [default: 10s]")
@click.option("--min-samples", type=click.IntRange(2), default=100, show_default=True)
@click.option("--layers/--no-layers", default=True, help="Per-layer times, in a pass of their own.")
@click.option("--timeout", type=DURATION_MS, help="Of one job.  [default: 10min]")
@click.option("--memory-limit", type=SIZE, help="Of one job.  [default: 90 % of free memory]")
@click.option("--tag", "tags", multiple=True, help="Name for the runs in the store.")
@store_option
@json_option
def command(models: tuple[Path, ...], backends: tuple[str, ...], **options: Any) -> int:
    """Measure MODELS on ONNX Runtime's CPU provider, or on what --on says.

    Every model and backend is a job in its own fresh process; its run is stored as soon as it has
    ended. With no model, two small samples are measured.
    """
    from enginescope.cli.progress import JobProgress
    from enginescope.cli.run_output import present
    from enginescope.cli.termination import ending_in_order
    from enginescope.runner.jobs import make_jobs
    from enginescope.runner.session import run_jobs
    from enginescope.store.archive import Store

    store = Store(options["store_folder"])
    jobs = make_jobs(
        models or _samples(store.path),
        backends,
        workload_of(options),
        limits=limits_of(options),
        layer_profile=options["layers"],
        data=options["data"],
    )
    runs = []
    with ending_in_order(), JobProgress(jobs, quiet=options["as_json"]) as progress:

        def keep(run: Any) -> None:
            store.save(run, tags=options["tags"])
            runs.append(run)
            progress.ended(run)

        try:
            run_jobs(jobs, keep, command=command_line(), watcher=progress.watcher)
        except (KeyboardInterrupt, SystemExit):
            note(f"enginescope: interrupted; {len(runs)} of {len(jobs)} runs are stored")
            raise
    present([store.load(run.id) for run in runs], as_json=options["as_json"])
    failed = any(run.outcome.kind.value != "ok" for run in runs)
    return EXIT_RUN_FAILED if failed else 0


def workload_of(options: dict[str, Any]) -> Workload:
    """Return the workload that the options describe.

    Raises
    ------
    UsageError
        Two stop rules that exclude each other.
    """
    if options["iterations"] is not None and options["duration"] is not None:
        raise UsageError("--iterations and --duration", why="each alone ends the measurement")
    return Workload(
        batch=options["batch"],
        seed=options["seed"],
        shapes=options["shapes"],
        files=options["files"],
        ranges=options["ranges"],
        warmup=warm_up_of(options["warmup"]),
        stop=StopRule(
            iterations=options["iterations"],
            duration_ms=options["duration"],
            precision_pct=options["precision"],
            max_time_ms=options["max_time"] or StopRule().max_time_ms,
            min_samples=options["min_samples"],
        ),
    )


def warm_up_of(given: tuple[int | float, ...]) -> WarmUp:
    """Return the warm-up in counts (int) and milliseconds (float); what is not given is 0."""
    if not given:
        return WarmUp()
    counts = [one for one in given if isinstance(one, int)]
    times = [one for one in given if isinstance(one, float)]
    time_ms = max(times, default=0.0)
    return WarmUp(
        time_ms=time_ms,
        iterations=max(counts, default=0),
        limit_ms=max(WarmUp().limit_ms, 10 * time_ms),
    )


def limits_of(options: dict[str, Any]) -> Limits:
    """Return the limits of a worker."""
    timeout = options["timeout"]
    return Limits(
        timeout_s=timeout / 1e3 if timeout else Limits().timeout_s,
        memory_bytes=options["memory_limit"],
    )


def command_line() -> str:
    """Return the command line as it was typed, for repeating it."""
    return shlex.join(["enginescope", *sys.argv[1:]])


def _samples(folder: Path) -> tuple[Path, ...]:
    from enginescope.runner.sample_models import sample_models

    return sample_models(folder / "samples")
