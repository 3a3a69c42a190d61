"""Compared depth-estimation models in a notebook."""

from __future__ import annotations

from enginescope.analysis.tasks.depth_benchmark import DepthBenchmark
from enginescope.notebook.html.fragment import data_table, fragment, notice_list
from enginescope.render.depth.depth_words import (
    SPEED_HEADERS,
    benchmark_notices,
    benchmark_title,
    speed_cells,
)


def depth_html(benchmark: DepthBenchmark) -> str:
    """Return the speed of each side, and the warnings."""
    return fragment(
        benchmark_title(benchmark),
        data_table(
            "Latency",
            ("side", *SPEED_HEADERS),
            ((side.label, *speed_cells(side)) for side in benchmark.sides),
            numbers=SPEED_HEADERS,
        ),
        notice_list(benchmark_notices(benchmark)),
    )
