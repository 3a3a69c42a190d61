"""``enginescope bench``: measure models, each job in a fresh process."""

import shlex
from pathlib import Path
from typing import Any

import click

from enginescope.cli import process_options
from enginescope.cli.comparison import bench_compare_options, check_bench_options
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    DURATION_S,
    NAME,
    PATH,
    SIZE,
    Finite,
    add_options,
    card_option,
    option,
    page_options,
)
from enginescope.cli.report_output import check_files
from enginescope.cli.verb import EXIT_RUN_FAILED, Verb, verb
from enginescope.records.run.job import Mode, StopRule, WarmUp, Workload
from enginescope.services.measurement.jobs import JobRequest

_THREE = {"on": True, "off": False, "auto": None}

#: Add what steers how requests are issued.
mode_options = add_options(
    option(
        "--mode kind",
        "Issue one request at a time, or enqueue queries ahead as trtexec does (trt, "
        "trtexec); on ort-cpu, two threads issue them.",
        click.Choice(["latency", "throughput"]),
        heading="GPU",
    ),
    option(
        "--graph cuda_graph",
        "Use a CUDA graph; auto: if the engine can be captured.",
        click.Choice(list(_THREE)),
        default="auto",
    ),
    option(
        "--transfers",
        "Include copies of inputs and outputs in the timed span.  [default: on]",
        click.Choice(["on", "off"]),
    ),
    option(
        "--spin/--no-spin spin_wait",
        "Busy-wait for the GPU, or block until it signals.  [default: spin]",
        default=None,
        show_default=False,
    ),
    option("--streams", "Number of inference streams in throughput mode.", click.IntRange(1, 64)),
    option("--idle idle_ms", "Pause on the host between two queries.", DURATION_MS),
    option("--cold", "Flush the L2 cache before each timed query.", is_flag=True),
    option("--rotate", "Number of input sets to rotate through.", click.IntRange(1, 1024)),
    option(
        "--decode",
        "Generate this many tokens per request: feed present outputs to past inputs (ONNX "
        "Runtime, TensorRT).",
        click.IntRange(2, 1_000_000),
    ),
    option(
        "--loop",
        "Make the timed calls in C or in Python (trt, ort-cpu).  [default: native, if it can]",
        click.Choice(["native", "python"]),
    ),
)


def mode_of(options: dict[str, Any]) -> Mode:
    """Return the mode that the options describe."""
    return Mode(
        in_flight=2 if options["kind"] == "throughput" else 1,
        transfers=_THREE[options["transfers"] or "auto"],
        cuda_graph=_THREE[options["cuda_graph"]],
        cold=options["cold"] or None,
        **process_options.picked(
            options, "kind", "spin_wait", "idle_ms", "streams", "rotate", "decode", "loop"
        ),
    )


#: Where the arguments after ``--`` wait between parsing and the verb.
HANDED_OVER = "enginescope.bench.handed_over"


class BenchCommand(Verb):
    """The verb; what follows ``--`` goes to trtexec as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--`` and what follows it away before click sees it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[HANDED_OVER] = tuple(args[at + 1 :])
        return super().parse_args(ctx, process_options.with_clock_named(args[:at]))


@verb(
    "bench",
    "Measure a model on the CPU",
    "enginescope bench model.onnx",
    "Compare two models with interleaved processes",
    "enginescope bench a.onnx b.onnx --compare",
    cls=BenchCommand,
)
@click.argument("models", nargs=-1, type=PATH)
@process_options.declared_options(JobRequest)
@process_options.request_options
@option("--iterations", "Stop after exactly this many iterations.", COUNT)
@option(
    "--duration", "Stop after this measuring time; a number without a unit is seconds.", DURATION_MS
)
@option(
    "--precision",
    "Stop when the median's 95 % interval is within ± this percentage.",
    Finite(0.01, 50),
    default=0.5,
)
@option(
    "--max-time",
    "Maximum measuring time of a job; with --compare, of all rounds.  [default: 10s]",
    DURATION_MS,
)
@option(
    "--min-samples",
    "Collect at least this many samples before stopping.",
    click.IntRange(2),
    default=100,
)
@option(
    "--timeout timeout_s",
    "Time limit per job.  [default: 10min, or more if the timing needs it]",
    DURATION_S,
)
@option(
    "--memory-limit memory_bytes", "Memory limit per job.  [default: 90 % of free memory]", SIZE
)
@option(
    "--trtexec-args trtexec_arguments",
    "Pass further arguments to trtexec with --on trtexec; arguments after -- are passed too.",
    default="",
    metavar="TEXT",
    show_default=False,
)
@mode_options
@process_options.machine_options
@process_options.telemetry_options
@option(
    "--commit",
    "Commit that the runs belong to, for history.  [default: commit of the working directory]",
    NAME,
)
@bench_compare_options
@page_options
@card_option
@process_options.stored_options
def command(models: tuple[Path, ...], **options: Any) -> int:
    """Measure MODELS with ONNX Runtime on the CPU, with TensorRT, or with the backends of --on.

    enginescope measures every model and backend in a fresh process, and stores the run at once.
    Without MODELS, it measures two small samples. With --compare, it interleaves the jobs until the
    result is clear.
    """
    check_bench_options(models, options)
    check_files(options, *models)
    from enginescope.cli.run_output import noting_tags

    handed = click.get_current_context().meta[HANDED_OVER]
    fields = {
        "models": models,
        "workload": workload_of(options),
        "trtexec_arguments": f"{options['trtexec_arguments']} {shlex.join(handed)}".strip(),
        "telemetry": process_options.telemetry_of(options),
        "conditions": process_options.conditions_of(options),
    }
    with noting_tags(options["tags"], options["store_folder"]):
        if options["compare"]:
            from enginescope.cli.measure.bench_comparison import compare

            return compare(fields, options)
        return _measure(process_options.request_of(JobRequest, options, **fields), options)


def _measure(request: JobRequest, options: dict[str, Any]) -> int:
    from enginescope.cli.progress import JobProgress, measuring
    from enginescope.cli.run_output import present
    from enginescope.services.measurement.bench import measure_models

    with measuring(progress := JobProgress()):
        result = measure_models(request, progress)
    present(result.runs, options)
    if result.not_stored is not None:
        progress.warn(result.not_stored)
    return 0 if result.is_ok else EXIT_RUN_FAILED


def workload_of(options: dict[str, Any]) -> Workload:
    """Return the workload that the options describe."""
    return Workload(
        **process_options.picked(options, "batch", "seed", "shapes", "files", "ranges", "dims"),
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
    time_ms = max([one for one in given if isinstance(one, float)], default=0.0)
    return WarmUp(
        time_ms=time_ms,
        iterations=max(counts, default=0),
        limit_ms=max(WarmUp().limit_ms, 10 * time_ms),
    )
