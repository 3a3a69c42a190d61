"""``enginescope lottery``: how much of a latency's variance is due to the build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.cli.completion import complete_backends
from enginescope.cli.measure.bench import command_line
from enginescope.cli.messages import next_steps, words
from enginescope.cli.options import (
    COUNT,
    DURATION_MS,
    FILE,
    FROM_0,
    MOST_ITEMS,
    PATH,
    SHAPE,
    check_outputs,
    dims_option,
    json_option,
    option,
    store_option,
    tags_option,
    write_output,
)
from enginescope.cli.progress import ProcessProgress
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.records.progress import COMPARISON_TAG
from enginescope.records.run.job import Limits, StopRule, Workload
from enginescope.services.lottery.lottery import hold_lottery, lottery_workload
from enginescope.services.lottery.request import (
    BUILDS,
    FEWEST_BUILDS,
    FEWEST_PROCESSES,
    MOST_BUILDS,
    MOST_PROCESSES,
    PROCESSES,
    LotteryRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enginescope.records.verdict.lottery import LotteryReport
    from enginescope.render.base.figures import TextTable
    from enginescope.store.location import StorePlace


@click.command(
    "lottery",
    cls=Verb,
    examples=(
        (
            "Build an engine ten times, and measure each build in three processes",
            "enginescope lottery model.onnx --on trt:fp16 --builds 10",
        ),
        (
            "See whether a timing cache removes the variation between builds",
            "enginescope lottery model.onnx --on trt:fp16 --timing-cache net.cache",
        ),
    ),
)
@click.argument("model", type=PATH)
@option(
    "--on",
    "backend",
    shell_complete=complete_backends,
    help="Backend that builds and runs the model.  [default: ort-cpu]",
)
@option(
    "--builds",
    type=click.IntRange(FEWEST_BUILDS, MOST_BUILDS),
    default=BUILDS,
    help="Number of independent builds.",
)
@option(
    "--processes",
    type=click.IntRange(FEWEST_PROCESSES, MOST_PROCESSES),
    default=PROCESSES,
    help="Fresh processes that measure each build.",
)
@option(
    "--timing-cache",
    type=PATH,
    help="Give every TensorRT build a copy of this timing cache.  [default: none]",
)
@option(
    "--budget",
    type=DURATION_MS,
    help=(
        "Time for which to compute the best numbers of builds, processes and iterations.  "
        "[default: as long as the lottery took]"
    ),
)
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of an input.")
@dims_option
@option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Set the size of dynamic first dimensions."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs and the order.")
@option("--iterations", type=COUNT, help="Time exactly this many iterations in each process.")
@option("--duration", type=DURATION_MS, help="Time each process for this long.  [default: 1s]")
@option(
    "--max-time",
    type=DURATION_MS,
    help="Make fewer builds and processes rather than take longer than this.",
)
@option("--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]")
@option("--markdown", type=FILE, help="Write the answer and its tables to FILE.")
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@tags_option
@store_option
@json_option
def command(model: Path, **options: Any) -> int:
    """Measure how much builds of MODEL differ, against processes and iterations.

    enginescope builds MODEL several times and interleaves processes of all builds. TensorRT builds
    each engine without engine cache and timing cache. On ONNX Runtime a build is the graph that a
    session optimizes. The result is stored: where the variation between builds covers a difference
    between single builds, compare, gate and upgrade call it inconclusive.
    """
    check_outputs([options["markdown"], options["html"]], [str(model)])
    progress = ProcessProgress(quiet=options["as_json"])
    with (
        naming_flags(),
        ending_in_order(),
        progress,
        saying_what_stands(progress.standing),
    ):
        report = hold_lottery(_request(model, options), progress)
    _write(report, options)
    present_lottery(report, as_json=options["as_json"])
    if not options["as_json"]:
        _next(report, options["html"] or options["markdown"], options["store_folder"])
    return 0


def _request(model: Path, options: dict[str, Any]) -> LotteryRequest:
    stop = StopRule(iterations=options["iterations"], duration_ms=options["duration"])
    is_usual = options["iterations"] is None and options["duration"] is None
    workload = Workload(
        batch=options["batch"],
        seed=options["seed"],
        shapes=options["shapes"],
        dims=options["dims"],
        stop=StopRule() if is_usual else stop,
    )
    timeout_ms, most_ms, budget_ms = (options[one] for one in ("timeout", "max_time", "budget"))
    return LotteryRequest(
        model=model,
        backend=options["backend"],
        builds=options["builds"],
        processes=options["processes"],
        workload=lottery_workload(workload),
        timing_cache=options["timing_cache"],
        max_time_s=most_ms / 1e3 if most_ms else None,
        budget_s=budget_ms / 1e3 if budget_ms else None,
        process_limits=Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        tags=options["tags"],
        store=options["store_folder"],
        command=command_line(),
    )


def _write(report: LotteryReport, options: dict[str, Any]) -> None:
    if options["markdown"] is not None:
        from enginescope.render.verdicts.lottery_writers import lottery_markdown

        write_output(options["markdown"], lottery_markdown(report))
    if options["html"] is not None:
        from enginescope.render.verdicts.lottery_page import lottery_page

        write_output(options["html"], lottery_page(report))


def present_lottery(report: LotteryReport, *, as_json: bool) -> None:
    """Print a report as JSON or as one screen."""
    from enginescope.render.verdicts.lottery_writers import lottery_json, lottery_tables

    if as_json:
        sys.stdout.buffer.write(lottery_json(report))
        sys.stdout.flush()
        return
    from enginescope.render.base.text import show_answer
    from enginescope.render.verdicts.lottery_phrases import answer_text, scope_facts

    tables = Group(*(part for one in lottery_tables(report) for part in _shown(one)))
    show_answer(answer_text(report), scope_facts(report), tables, report.notices)


def _shown(one: TextTable) -> Iterator[RenderableType]:
    from enginescope.render.base.text import table

    yield table(one.headers, one.rows, right=one.numbers)
    if one.left_out:
        yield Text(f"and {one.left_out:,} more layers")
    yield Text()


def _next(report: LotteryReport, written: Path | None, store: StorePlace | None) -> None:
    at = ("--store", store) if store else ()
    steps = [("open", str(written))] if written else []
    again = words("enginescope", "compare", *at, f"{COMPARISON_TAG}{report.comparison}")
    next_steps(*steps, ("the builds side by side", again))
