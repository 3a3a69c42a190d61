"""``enginescope bench``: measure models, each job in a fresh process."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, get_args

import click

from enginescope.cli.comparison import bench_compare_options, check_bench_options
from enginescope.cli.options import (
    COUNT,
    COUNT_OR_DURATION,
    DURATION_MS,
    FROM_0,
    INPUT,
    NAME,
    PATH,
    RANGE,
    SIZE,
    Finite,
    add_options,
    card_option,
    json_option,
    option,
    page_options,
    store_option,
    tags_option,
)
from enginescope.cli.process_options import (
    conditions_of,
    input_options,
    machine_options,
    on_option,
    picked,
    stored_fields,
    telemetry_of,
    telemetry_options,
    with_clock_named,
)
from enginescope.cli.report_output import check_files
from enginescope.cli.verb import EXIT_RUN_FAILED, Verb
from enginescope.records.run.job import Mode, ProfileMode, StopRule, WarmUp, Workload

_THREE = {"on": True, "off": False, "auto": None}

#: Add what steers how requests are issued.
mode_options = add_options(
    option(
        "--mode",
        "mode_kind",
        type=click.Choice(["latency", "throughput"]),
        help="Issue one request at a time, or enqueue queries ahead as trtexec does (trt, "
        "trtexec); on ort-cpu, two threads issue them.",
    ),
    option(
        "--graph",
        type=click.Choice(list(_THREE)),
        default="auto",
        help="Use a CUDA graph; auto: if the engine can be captured.",
    ),
    option(
        "--transfers",
        type=click.Choice(["on", "off"]),
        help="Include copies of inputs and outputs in the timed span.  [default: on]",
    ),
    option(
        "--spin/--no-spin",
        default=None,
        show_default=False,
        help="Busy-wait for the GPU, or block until it signals.  [default: spin]",
    ),
    option(
        "--streams",
        type=click.IntRange(1, 64),
        help="Number of inference streams in throughput mode.",
    ),
    option("--idle", type=DURATION_MS, help="Pause on the host between two queries."),
    option("--cold", is_flag=True, help="Flush the L2 cache before each timed query."),
    option(
        "--rotate", type=click.IntRange(1, 1024), help="Number of input sets to rotate through."
    ),
    option(
        "--decode",
        type=click.IntRange(2, 1_000_000),
        help="Generate this many tokens per request: feed present outputs to past inputs (ONNX "
        "Runtime, TensorRT).",
    ),
    option(
        "--loop",
        type=click.Choice(["native", "python"]),
        help="Make the timed calls in C or in Python (trt, ort-cpu).  [default: native, if it can]",
    ),
    option("--profile-index", type=FROM_0, help="Select the optimization profile to run."),
)


def mode_of(options: dict[str, Any]) -> Mode:
    """Return the mode that the options describe."""
    kind = options["mode_kind"]
    transfers = options["transfers"]
    return Mode(
        kind=kind,
        in_flight=2 if kind == "throughput" else 1,
        transfers=None if transfers is None else transfers == "on",
        cuda_graph=_THREE[options["graph"]],
        spin_wait=options["spin"],
        idle_ms=options["idle"],
        cold=options["cold"] or None,
        **picked(options, "streams", "rotate", "decode", "loop"),
    )


#: Where the arguments after ``--`` wait between parsing and the verb.
HANDED_OVER = "enginescope.bench.handed_over"


class BenchCommand(Verb):
    """The verb; what follows ``--`` goes to trtexec as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--`` and what follows it away before click sees it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[HANDED_OVER] = tuple(args[at + 1 :])
        return super().parse_args(ctx, with_clock_named(args[:at]))


@click.command(
    "bench",
    cls=BenchCommand,
    examples=(
        ("Measure a model on the CPU", "enginescope bench model.onnx"),
        (
            "Compare two models with interleaved processes",
            "enginescope bench a.onnx b.onnx --compare",
        ),
    ),
)
@click.argument("models", nargs=-1, type=PATH)
@on_option(
    "Backend to measure on, as NAME[:PRECISION][?KEY=VALUE&…]; repeat for "
    "several.  [default: ort-cpu; trt for an engine]",
    several=True,
)
@input_options
@option(
    "--input",
    "files",
    multiple=True,
    type=INPUT,
    help="Read the values of an input from an npy, npz, raw or ONNX .pb file.",
)
@option(
    "--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers for an input."
)
@option(
    "--data",
    default="auto",
    help=(
        "Data set folder with input_*.pb; auto: test_data_set_* in the model's "
        "folder; none: random inputs."
    ),
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs.")
@option(
    "--warmup",
    multiple=True,
    type=COUNT_OR_DURATION,
    help="Warm up for at least this time or count, until steady; 0 skips it.  [default: 200ms]",
)
@option("--iterations", type=COUNT, help="Stop after exactly this many iterations.")
@option(
    "--duration",
    type=DURATION_MS,
    help="Stop after this measuring time; a number without a unit is seconds.",
)
@option(
    "--precision",
    type=Finite(0.01, 50),
    default=0.5,
    help="Stop when the median's 95 % interval is within ± this percentage.",
)
@option(
    "--max-time",
    type=DURATION_MS,
    help="Maximum measuring time of a job; with --compare, of all rounds.  [default: 10s]",
)
@option(
    "--min-samples",
    type=click.IntRange(2),
    default=100,
    help="Collect at least this many samples before stopping.",
)
@option(
    "--layers/--no-layers",
    default=True,
    show_default=False,
    help="Measure per-layer times in a separate pass.",
)
@option(
    "--profile-mode",
    type=click.Choice(get_args(ProfileMode)),
    default="gated",
    help="Time TensorRT's layers without the profiler's cost, or as trtexec does.",
)
@option(
    "--timeout",
    type=DURATION_MS,
    help="Time limit per job.  [default: 10min, or more if the timing needs it]",
)
@option("--memory-limit", type=SIZE, help="Memory limit per job.  [default: 90 % of free memory]")
@option(
    "--trtexec-args",
    default="",
    metavar="TEXT",
    show_default=False,
    help="Pass further arguments to trtexec with --on trtexec; arguments after -- are passed too.",
)
@mode_options
@machine_options
@telemetry_options
@option("--rebuild", is_flag=True, help="Rebuild engines even if the cache has them.")
@tags_option
@option(
    "--commit",
    type=NAME,
    help="Commit that the runs belong to, for history.  [default: commit of the working directory]",
)
@bench_compare_options
@page_options
@card_option
@store_option
@json_option
def command(models: tuple[Path, ...], backends: tuple[str, ...], **options: Any) -> int:
    """Measure MODELS with ONNX Runtime on the CPU, with TensorRT, or with the backends of --on.

    enginescope measures every model and backend in a fresh process, and stores the run at once.
    Without MODELS, it measures two small samples. With --compare, it interleaves the jobs until the
    result is clear.
    """
    check_bench_options(models, options)
    check_files(options, *models)
    from enginescope.cli.run_output import noting_tags

    request = _options_of_jobs(models, backends, options)
    with noting_tags(options["tags"], options["store_folder"]):
        if options["compare"]:
            from enginescope.cli.measure.bench_comparison import compare

            return compare(request, options)
        return _measure(request, options)


def _options_of_jobs(
    models: tuple[Path, ...], backends: tuple[str, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a request that a measurement and a comparison share."""
    workload = workload_of(options)
    if options["compare"]:
        from enginescope.cli.measure.bench_comparison import paced

        workload = paced(workload)
    handed = click.get_current_context().meta[HANDED_OVER]
    return {
        "models": models,
        "backends": backends,
        "workload": workload,
        "layer_profile": options["layers"],
        "timeout_s": options["timeout"] and options["timeout"] / 1e3,
        "memory_bytes": options["memory_limit"],
        "trtexec_arguments": f"{options['trtexec_args']} {shlex.join(handed)}".strip(),
        "telemetry": telemetry_of(options),
        "conditions": conditions_of(options),
        "clock": options["lock_clocks"],
        **picked(options, "profile_mode", "data", "rebuild", "profile_index", "commit"),
        **stored_fields(options),
    }


def _measure(fields: dict[str, Any], options: dict[str, Any]) -> int:
    from enginescope.cli.progress import JobProgress, measuring
    from enginescope.cli.run_output import present
    from enginescope.services.measurement.bench import BenchRequest, measure_models

    progress = JobProgress()
    with measuring(progress):
        result = measure_models(BenchRequest(**fields), progress)
    present(result.runs, options)
    if result.not_stored is not None:
        progress.warn(result.not_stored)
    return 0 if result.is_ok else EXIT_RUN_FAILED


def workload_of(options: dict[str, Any]) -> Workload:
    """Return the workload that the options describe."""
    return Workload(
        **picked(options, "batch", "seed", "shapes", "files", "ranges", "dims"),
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
