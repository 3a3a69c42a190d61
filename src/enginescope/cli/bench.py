"""``enginescope bench``: measure models, each job in a fresh process."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.compare_options import bench_compare_options, check_bench_options
from enginescope.cli.machine_options import (
    held_clocks,
    machine_options,
    on_machine,
    with_clock_named,
)
from enginescope.cli.mode_options import mode_of, mode_options
from enginescope.cli.options import (
    COUNT_OR_DURATION,
    DURATION_MS,
    INPUT,
    MOST_ITEMS,
    NAME,
    RANGE,
    SHAPE,
    SIZE,
    Finite,
    json_option,
    store_option,
    tags_option,
)
from enginescope.cli.telemetry_options import telemetry_options, with_telemetry
from enginescope.core.errors import UsageError
from enginescope.model.job import StopRule, WarmUp, Workload
from enginescope.store.location import without_password

if TYPE_CHECKING:
    from enginescope.model.job import Job
    from enginescope.model.run import Run
    from enginescope.store.archive import Store

EXIT_RUN_FAILED = 3
#: Where the arguments after ``--`` wait between parsing and the verb.
HANDED_OVER = "enginescope.bench.handed_over"


class BenchCommand(click.Command):
    """The verb; what follows ``--`` goes to trtexec as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--`` and what follows it away before click sees it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[HANDED_OVER] = tuple(args[at + 1 :])
        return super().parse_args(ctx, with_clock_named(args[:at]))


@click.command("bench", cls=BenchCommand)
@click.argument("models", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--on",
    "backends",
    multiple=True,
    help="Backend, as NAME[:PRECISION][?KEY=VALUE&…]; repeat for several.  "
    "[default: ort-cpu; trt for an engine]",
)
@click.option("--shape", "shapes", multiple=True, type=SHAPE, help="Shape of an input.")
@click.option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Size of dynamic first dimensions."
)
@click.option("--input", "files", multiple=True, type=INPUT, help="npy, npz, raw or ONNX .pb.")
@click.option("--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers.")
@click.option(
    "--data",
    default="auto",
    show_default=True,
    help="Data set folder with input_*.pb; auto: test_data_set_* beside the model; none.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random inputs."
)
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
    type=Finite(0.01, 50),
    default=0.5,
    show_default=True,
    help="Stop when the median's 95 % interval is within ± so many percent.",
)
@click.option("--max-time", type=DURATION_MS, help="Stop short of that after  [default: 10s]")
@click.option("--min-samples", type=click.IntRange(2), default=100, show_default=True)
@click.option("--layers/--no-layers", default=True, help="Per-layer times, in a pass of their own.")
@click.option(
    "--timeout", type=DURATION_MS, help="Of one job.  [default: 10min, or what the timing needs]"
)
@click.option("--memory-limit", type=SIZE, help="Of one job.  [default: 90 % of free memory]")
@click.option(
    "--trtexec-args",
    default="",
    metavar="TEXT",
    help="Further arguments for --on trtexec, as in a shell; also those after --.",
)
@mode_options
@machine_options
@telemetry_options
@click.option("--rebuild", is_flag=True, help="Build engines anew, whatever the cache has.")
@tags_option
@click.option(
    "--commit",
    type=NAME,
    help="What the runs are of, for history.  [default: commit of the working directory]",
)
@bench_compare_options
@store_option
@json_option
def command(models: tuple[Path, ...], backends: tuple[str, ...], **options: Any) -> int:
    """Measure MODELS on ONNX Runtime's CPU provider, engines on TensorRT, or as --on says.

    Every model and backend is a job in its own fresh process; its run is stored as soon as it has
    ended. With no model, two small samples are measured. With --compare the jobs are measured in
    turn, round by round, until it is decided which is faster.
    """
    from enginescope.store.archive import Store

    check_bench_options(models, options)
    typed, workload = command_line(), workload_of(options)
    store = writable(Store(options["store_folder"]))
    if options["compare"]:
        from enginescope.cli.bench_comparison import compare_jobs, paced

        workload, do = paced(workload), compare_jobs
    else:
        do = _measure
    jobs = on_machine(_jobs(models, backends, options, workload, store), options)
    jobs = with_telemetry(jobs, options)
    with held_clocks(jobs, options, typed):
        return do(jobs, store, options, typed)


def _jobs(
    models: tuple[Path, ...],
    backends: tuple[str, ...],
    options: dict[str, Any],
    workload: Workload,
    store: Store,
) -> tuple[Job, ...]:
    from enginescope.backends.trtexec.arguments import split_arguments, with_arguments
    from enginescope.runner.jobs import limits_for, make_jobs
    from enginescope.runner.profile_index import with_profile

    handed = click.get_current_context().meta[HANDED_OVER]
    to_trtexec = (*split_arguments(options["trtexec_args"]), *handed)
    limits = limits_for(
        workload,
        timeout_s=options["timeout"] and options["timeout"] / 1e3,
        memory_bytes=options["memory_limit"],
    )
    make = partial(
        make_jobs,
        workload=workload,
        limits=limits,
        layer_profile=options["layers"],
        data=options["data"],
        engine_cache=store.path / "engines",
        rebuild=options["rebuild"],
    )
    jobs: tuple[Job, ...] = ()
    for model in models or bundled_models(store.path):
        on = backends or (usual_backend(model),)
        jobs += make([model], with_profile(on, options["profile_index"]))
    return with_arguments(jobs, to_trtexec)


def _measure(jobs: tuple[Job, ...], store: Store, options: dict[str, Any], command: str) -> int:
    from enginescope.cli.progress import JobProgress
    from enginescope.cli.run_output import present
    from enginescope.cli.termination import ending_in_order, saying_what_stands
    from enginescope.runner.session import run_jobs

    runs: list[Run] = []
    with ending_in_order(), JobProgress(jobs, quiet=options["as_json"]) as progress:

        def keep(run: Run) -> None:
            store.save(run.of_commit(options["commit"]), tags=options["tags"])
            runs.append(run)
            progress.ended(run)

        with saying_what_stands(lambda: f"{len(runs)} of {len(jobs)} runs are stored"):
            run_jobs(jobs, keep, command=command, watcher=progress.watcher)
    present(
        [store.load(run.id) for run in runs],
        as_json=options["as_json"],
        store=options["store_folder"],
    )
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
        mode=mode_of(options),
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


def command_line() -> str:
    """Return the command line as it was typed, for repeating it; without passwords.

    Raises
    ------
    UsageError
        A part of it is not UTF-8, so that no run could hold it.
    """
    typed = shlex.join(["enginescope", *sys.argv[1:]])
    try:
        typed.encode()
    except UnicodeEncodeError as error:
        what = f"the command line {typed!a}"
        raise UsageError(what, why="it is not UTF-8", hint="rename the file") from error
    return without_password(typed)


def writable(store: Store) -> Store:
    """Return `store` if a run can be kept in it: better known before measuring than after.

    Raises
    ------
    StoreError
        Its folder cannot be made or written.
    """
    store.check_writable()
    return store


def usual_backend(model: Path) -> str:
    """Return the backend that a model is measured on where none was asked for."""
    from enginescope.formats.engine_file import ENGINE_SUFFIXES

    return "trt" if model.suffix.lower() in ENGINE_SUFFIXES else "ort-cpu"


def bundled_models(folder: Path) -> tuple[Path, ...]:
    """Return the sample models, written into a store's `folder` unless they are there."""
    from enginescope.runner.sample_models import sample_models

    return sample_models(folder / "samples")
