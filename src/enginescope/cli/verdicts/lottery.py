"""``enginescope lottery``: how much of a latency's variance is due to the build."""

from pathlib import Path
from typing import Any

import click

from enginescope.cli.options import PATH
from enginescope.cli.process_options import declared_options, request_of, timing_options
from enginescope.cli.progress import ProcessProgress, exit_code, measuring
from enginescope.cli.report_output import check_files, present_answer, step
from enginescope.cli.verb import verb
from enginescope.records.progress import COMPARISON_TAG
from enginescope.services.lottery.lottery import LotteryRequest, hold_lottery


@verb(
    "lottery",
    "Build an engine ten times, and measure each build in three processes",
    "enginescope lottery model.onnx --on trt:fp16 --builds 10",
    "See whether a timing cache removes the variation between builds",
    "enginescope lottery model.onnx --on trt:fp16 --timing-cache net.cache",
)
@click.argument("model", type=PATH)
@declared_options(LotteryRequest)
@timing_options
def command(model: Path, **options: Any) -> int:
    """Measure how much builds of MODEL differ, compared with processes and iterations.

    enginescope builds MODEL several times and interleaves processes of all builds. TensorRT builds
    each engine without engine cache and timing cache. On ONNX Runtime a build is the graph that a
    session optimizes. A maximum time makes fewer builds too. Builds stay in the store until all
    processes are measured; then they are removed. The result is stored: where the variation between
    builds covers a difference between single builds, compare, gate and upgrade call it
    inconclusive.
    """
    from enginescope.render.verdicts.lottery_answer import lottery_answer

    check_files(options, model)
    request = request_of(LotteryRequest, options, model=model)
    with measuring(progress := ProcessProgress(), can_continue=True):
        report = hold_lottery(request, progress)
    tag = f"{COMPARISON_TAG}{report.comparison}"
    side_by_side = step(options, "the builds side by side", "compare", tag)
    present_answer(lottery_answer(report), options, side_by_side)
    return exit_code(progress)
