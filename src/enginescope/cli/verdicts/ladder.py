"""``enginescope ladder``: why one number is not another."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginescope.cli.completion import complete_backends
from enginescope.cli.measure.bench import command_line
from enginescope.cli.measure.bench_comparison import RoundsProgress
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
from enginescope.cli.termination import ending_in_order, saying_what_stands
from enginescope.cli.verb import Verb, naming_flags
from enginescope.records.run.job import Limits, StopRule, Workload
from enginescope.records.verdict.ladder import LadderReport
from enginescope.services.ladder.ladder import climb_ladder
from enginescope.services.ladder.request import (
    LEAST_ROUNDS,
    LEAST_STREAMS,
    MOST_STREAMS,
    ROUNDS,
    STREAMS,
    LadderRequest,
)
from enginescope.stats.comparison.ratio import MOST_ROUNDS

if TYPE_CHECKING:
    from enginescope.store.location import StorePlace


@click.command(
    "ladder",
    cls=Verb,
    examples=(
        (
            "Place a latency of your own on the ladder of an engine",
            "enginescope ladder net.engine --mine 1.9ms --html ladder.html",
        ),
        (
            "Show what calls of ONNX Runtime add to its layers",
            "enginescope ladder model.onnx",
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
@option("--mine", metavar="TIME", help="A latency to place on the ladder, such as 1.9ms.")
@option("--shape", "shapes", multiple=True, type=SHAPE, help="Set the shape of an input.")
@dims_option
@option(
    "--batch", type=click.IntRange(1, MOST_ITEMS), help="Set the size of dynamic first dimensions."
)
@option("--seed", type=FROM_0, default=0, help="Seed for random inputs.")
@option("--iterations", type=COUNT, help="Time exactly this many iterations in each process.")
@option("--duration", type=DURATION_MS, help="Time each process for this long.  [default: 1s]")
@option("--timeout", type=DURATION_MS, help="Time limit per process.  [default: 10min]")
@option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MOST_ROUNDS),
    default=ROUNDS,
    help="Number of rounds; each runs a fresh process of every kind.",
)
@option(
    "--streams",
    type=click.IntRange(LEAST_STREAMS, MOST_STREAMS),
    default=STREAMS,
    help="Number of streams, or of requests in flight, of the rung with several.",
)
@option("--html", type=FILE, help="Write one HTML page to FILE.")
@tags_option
@store_option
@json_option
def command(model: Path, **options: Any) -> int:
    """Measure a query in every way, from its layers to a client's call.

    Each rung of the ladder is one way to measure: the layers alone, GPU work, a query with its
    copies, queries ahead. Fresh processes of all ways are interleaved, so that each rung and each
    step between two rungs has an interval. With --mine, the answer says which rung your latency
    is.
    """
    check_outputs([options["html"]], [str(model)])
    request = request_of(model, options)
    progress = RoundsProgress(quiet=options["as_json"])
    with (
        naming_flags(),
        ending_in_order(),
        progress,
        saying_what_stands(progress.standing),
    ):
        report = climb_ladder(request, progress)
    if options["html"] is not None:
        from enginescope.render.ladder.ladder_page import ladder_page

        write_output(options["html"], ladder_page(report))
    _print(report, as_json=options["as_json"])
    if not options["as_json"]:
        _next(report, options["html"], options["store_folder"])
    return 0


def request_of(model: Path, options: dict[str, Any]) -> LadderRequest:
    """Return the request that the options describe."""
    from enginescope.services.measurement.interleaved import with_process_stop

    workload = Workload(
        batch=options["batch"],
        seed=options["seed"],
        shapes=options["shapes"],
        dims=options["dims"],
        stop=StopRule(iterations=options["iterations"], duration_ms=options["duration"]),
    )
    is_usual = options["iterations"] is None and options["duration"] is None
    timeout_ms = options["timeout"]
    return LadderRequest(
        model=model,
        backend=options["backend"],
        mine=options["mine"],
        rounds=options["rounds"],
        streams=options["streams"],
        workload=with_process_stop(workload) if is_usual else workload,
        limits=Limits(timeout_s=timeout_ms / 1e3) if timeout_ms else None,
        tags=options["tags"],
        store=options["store_folder"],
        command=command_line(),
    )


def _print(report: LadderReport, *, as_json: bool) -> None:
    from enginescope.render.ladder.ladder_writers import ladder_json, waterfall

    if as_json:
        sys.stdout.buffer.write(ladder_json(report))
        sys.stdout.flush()
        return
    from rich.console import Group
    from rich.text import Text

    from enginescope.render.base.text import show_answer
    from enginescope.render.ladder.ladder_phrases import answer_text, scope_facts

    width = shutil.get_terminal_size().columns
    rows = Group(*map(Text, waterfall(report, width=width)))
    answer = textwrap.fill(answer_text(report), width, break_long_words=False)
    show_answer(answer, scope_facts(report), rows, report.notices)


def _next(report: LadderReport, written: Path | None, store: StorePlace | None) -> None:
    at = ("--store", store) if store else ()
    steps = [("open", str(written))] if written else []
    tag = f"cmp-{report.comparison}"
    steps.append(("its runs", words("enginescope", "runs", "list", *at, "--tag", tag)))
    next_steps(*steps)
