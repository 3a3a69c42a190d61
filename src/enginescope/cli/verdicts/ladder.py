"""``enginescope ladder``: why one number is not another."""

from pathlib import Path
from typing import Any

import click

from enginescope.cli.measure.bench_comparison import RoundsProgress
from enginescope.cli.options import PATH
from enginescope.cli.process_options import declared_options, request_of, timing_options
from enginescope.cli.progress import exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, runs_step
from enginescope.cli.verb import verb
from enginescope.services.ladder.ladder import LadderRequest, climb_ladder


@verb(
    "ladder",
    "Place a latency of your own on the ladder of an engine",
    "enginescope ladder net.engine --mine 1.9ms --html ladder.html",
    "Show what calls of ONNX Runtime add to its layers",
    "enginescope ladder model.onnx",
)
@click.argument("model", type=PATH, metavar="MODEL|ENGINE")
@declared_options(LadderRequest)
@timing_options
def command(model: Path, **options: Any) -> int:
    """Measure a query in every way, from its layers to a client's call.

    Each rung of the ladder is one way to measure: the layers alone, GPU work, a query with its
    copies, queries ahead. Fresh processes of all ways are interleaved, so that each rung and each
    step between two rungs has an interval. With --mine, the result names the rung that your
    latency fits.
    """
    from rich.text import Text

    from enginescope.render.base.text_table import screen_width
    from enginescope.render.ladder.ladder_answer import ladder_answer, waterfall

    check_files(options, model)
    request = request_of(LadderRequest, options, model=model)
    with measuring(progress := RoundsProgress(), can_continue=True):
        report = climb_ladder(request, progress)
    rows = [*map(Text, waterfall(report, width=screen_width()))]
    after = runs_step(options, report.comparison)
    present_answer(ladder_answer(report), options, after, rows=rows)
    return exit_code(progress)
