"""``enginescope shapes``: which shapes to run and build for."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.measure.bench import command_line
from enginescope.cli.messages import next_steps
from enginescope.cli.options import (
    DURATION_MS,
    EXISTING,
    FILE,
    FROM_0,
    PATH,
    RANGE,
    SHAPE,
    Finite,
    Parsed,
    check_outputs,
    dims_option,
    json_option,
    option,
    store_option,
    write_output,
)
from enginescope.cli.progress import JobProgress
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.core.errors import UsageError
from enginescope.records.run.job import Limits, Mode, Workload
from enginescope.records.run.run import OutcomeKind
from enginescope.services.shapes.request import (
    BATCHES,
    GAIN_PCT,
    LEAST_REQUESTS,
    LEAST_ROUNDS,
    LEAST_VISITS,
    MOST_PROFILES,
    REQUESTS,
    ROUNDS,
    VISITS,
    ShapesRequest,
    Sweep,
    parse_sizes,
    parse_sweep,
    parse_weight,
)
from enginescope.services.shapes.shapes import sweep_shapes
from enginescope.stats.comparison.ratio import MOST_ROUNDS

if TYPE_CHECKING:
    from enginescope.records.run.job import Job
    from enginescope.records.run.run import Run
    from enginescope.records.verdict.shapes import ShapesReport


@click.command(
    "shapes",
    cls=Verb,
    examples=(
        (
            "Find the batch size above which throughput hardly grows",
            "enginescope shapes model.onnx --batch 1,2,4,8,16,32 --html shapes.html",
        ),
        (
            "Propose two optimization profiles where batch 1 is most of the traffic",
            "enginescope shapes model.onnx --batch 1:8 --weight 1=0.9 --weight 8=0.1 --profiles 2",
        ),
    ),
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@option(
    "--on",
    "backend",
    shell_complete=complete_backends,
    help="Backend to measure on: TensorRT or ONNX Runtime.  [default: ort-cpu; trt for an engine]",
)
@option(
    "--batch",
    type=Parsed("SIZES", parse_sizes),
    help=f"Batch sizes: a list, or FROM:TO:STEP.  [default: {','.join(map(str, BATCHES))}]",
)
@option(
    "--sweep",
    type=Parsed("NAME=SIZES", parse_sweep),
    help="Sizes of a named dimension, or whole shapes of an input, instead of batch sizes.",
)
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of another input.")
@dims_option
@option(
    "--range", "ranges", multiple=True, type=RANGE, help="Bounds of random integers for an input."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order of shapes.")
@option(
    "--graph",
    type=click.Choice(("auto", "off")),
    default="auto",
    help="Capture a CUDA graph after each change, on TensorRT, or run without.",
)
@option(
    "--gain",
    type=Finite(0, 100, min_open=True),
    default=GAIN_PCT,
    help="At the knee, no larger shape has this percentage more throughput.",
)
@option(
    "--weight",
    "weights",
    multiple=True,
    type=Parsed("SHAPE=WEIGHT", parse_weight),
    help="Share of the requests that have a shape, in any unit; repeat for several.",
)
@option("--trace", type=EXISTING, help="Read the sizes of requests as they come, one a line.")
@option(
    "--profiles",
    type=click.IntRange(1, MOST_PROFILES),
    default=1,
    help="Number of optimization profiles to propose.",
)
@option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MOST_ROUNDS),
    default=ROUNDS,
    help="Number of fresh processes; each runs all shapes.",
)
@option(
    "--visits",
    type=click.IntRange(LEAST_VISITS, MOST_ROUNDS),
    default=VISITS,
    help="How often a process changes to each shape.",
)
@option(
    "--requests",
    type=click.IntRange(LEAST_REQUESTS, MOST_ROUNDS),
    default=REQUESTS,
    help="Requests after each change; fewer where they take longer than 250 ms.",
)
@option("--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]")
@option("--csv", type=FILE, help="Write the shapes as CSV to FILE.")
@option("--markdown", type=FILE, help="Write the answer and its tables to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@store_option
@json_option
def command(model: Path, **options: Any) -> int:
    """Measure MODEL with several shapes, and what a change between them costs.

    Every fresh process loads MODEL once and changes between all shapes in random order. The answer
    is the knee: the smallest shape at which larger ones have hardly more throughput. The first
    request after a change is compared with a request that follows no change. Optimization profiles
    are proposed from the times and the weights of the shapes. The runs are not stored.
    """
    check_outputs([options[name] for name in ("csv", "markdown", "html")], [str(model)])
    progress = ShapesProgress(quiet=options["as_json"])
    with (
        naming_flags(),
        ending_in_order(),
        progress,
        saying_what_stands(progress.standing),
    ):
        report = sweep_shapes(request_of(model, options), progress)
    _write(report, options)
    _print(report, as_json=options["as_json"])
    if not options["as_json"]:
        _next(report, options["html"])
    return 0


def request_of(model: Path, options: dict[str, Any]) -> ShapesRequest:
    """Return the request that the options describe."""
    sizes, sweep, timeout_ms = options["batch"], options["sweep"], options["timeout"]
    if sizes is not None and sweep is not None:
        raise UsageError("`batch` and `sweep`", why="one dimension changes at a time")
    return ShapesRequest(
        model=model,
        sweep=sweep or Sweep(name="batch", sizes=sizes or BATCHES),
        backend=options["backend"],
        gain_pct=options["gain"],
        weights=dict(options["weights"]) or None,
        trace=options["trace"],
        profiles=options["profiles"],
        rounds=options["rounds"],
        visits=options["visits"],
        requests=options["requests"],
        workload=Workload(
            seed=options["seed"],
            shapes=options["shapes"],
            ranges=options["ranges"],
            dims=options["dims"],
            mode=Mode(cuda_graph=False) if options["graph"] == "off" else Mode(),
        ),
        limits=Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        store=options["store_folder"],
        command=command_line(),
    )


class ShapesProgress(JobProgress):
    """Shows which process runs, and prints what fails."""

    def job_started(self, index: int, job: Job) -> None:
        """Show a process that starts."""
        if self._live:
            super().job_started(index, job)

    def ended(self, run: Run) -> None:
        """Print a failure; of the others the screen at the end tells."""
        if run.outcome.kind is not OutcomeKind.OK and not self._quiet:
            self._line(f"a process failed: {run.outcome.message or run.outcome.kind.value}")

    def standing(self) -> str:
        """Return what an interrupt leaves in the store."""
        return "runs of shapes are not stored"


def _write(report: ShapesReport, options: dict[str, Any]) -> None:
    from enginescope.render.shapes.shapes_page import shapes_page
    from enginescope.render.shapes.shapes_writers import shapes_csv, shapes_markdown

    writers = (("csv", shapes_csv), ("markdown", shapes_markdown), ("html", shapes_page))
    for name, writer in writers:
        if options[name] is not None:
            write_output(options[name], writer(report))


def _print(report: ShapesReport, *, as_json: bool) -> None:
    from enginescope.render.shapes.shapes_writers import shapes_json, shapes_tables

    if as_json:
        sys.stdout.buffer.write(shapes_json(report))
        sys.stdout.flush()
        return
    from rich.console import Group
    from rich.text import Text

    from enginescope.render.base.text import show_answer, table
    from enginescope.render.shapes.shapes_phrases import answer_text, scope_facts

    rows: list[Any] = []
    for part in shapes_tables(report):
        rows += [Text("")] if rows else []
        rows.append(table(part.headers, part.rows, right=part.numbers))
        rows.append(Text(part.note or "", style="dim"))
    width = get_terminal_size().columns
    answer = textwrap.fill(answer_text(report), width, break_long_words=False)
    show_answer(answer, scope_facts(report), Group(*rows), report.notices)


def _next(report: ShapesReport, page: Path | None) -> None:
    from enginescope.render.shapes.shapes_phrases import build_command

    steps = [("open", str(page))] if page is not None else []
    build = build_command(report)
    next_steps(*steps, *([("build", build)] if build else []))
