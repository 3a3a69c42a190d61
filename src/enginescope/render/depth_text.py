"""Models of depth compared, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.depth_benchmark import DepthBenchmark
from enginescope.analysis.task_report import TaskReport
from enginescope.render.depth_words import (
    benchmark_notices,
    quality_title,
    short_labels,
    speed_cells,
    subjects_text,
)
from enginescope.render.task_words import left_out_lines, metric_columns, metric_header, task_cells
from enginescope.render.text import label_row, notice_lines, table

_NARROW = 76
_SPEED = ("median ms", "95 % CI ms", "p95 ms", "p99 ms", "/s", "n")
_SPEED_COLUMNS = 56
_LEAST_NAME = 10


def depth_text(
    found: DepthBenchmark, files: Sequence[str] = (), *, width: int = 80
) -> RenderableType:
    """Return the screen: speed, agreement, figures against known depth, and what weakens them."""
    lines: list[RenderableType] = [Text(_title(found), style="bold"), Text()]
    lines += [_speed(found, width), Text()]
    if found.agreement is not None:
        first = short_labels(found, 40)[0]
        title = f"Maps of {found.image_name}, each brought to 0…1, against {first}"
        lines += [Text(title), _scores(found, found.agreement, width, skip=1), Text()]
    if found.quality is not None:
        title = quality_title(found.quality, found.image_name)
        lines += [Text(title), _scores(found, found.quality, width), Text()]
        left_out = left_out_lines(found.quality)
        lines += [label_row(label, text) for label, text in left_out]
        lines += [Text()] if left_out else []
    lines += notice_lines(benchmark_notices(found))
    lines += [Text(f"  {one}") for one in files]
    runs = " ".join(one.view.id[:6] for one in found.sides)
    lines += [Text(f"  runs {runs} · which is faster: enginescope compare {runs}")]
    return Group(*lines)


def _title(found: DepthBenchmark) -> str:
    return f"Depth of {found.image_name} by {subjects_text(found)}"


def _speed(found: DepthBenchmark, width: int) -> RenderableType:
    headers = ["latency", *_SPEED]
    room = max(_LEAST_NAME, width - _SPEED_COLUMNS)
    rows = [
        [name, *speed_cells(side)]
        for name, side in zip(short_labels(found, room), found.sides, strict=True)
    ]
    if width < _NARROW:
        for header in ("p95 ms", "n"):
            at = headers.index(header)
            headers.pop(at)
            rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    return table(headers, rows, right=tuple(headers[1:]))


def _scores(
    found: DepthBenchmark, report: TaskReport, width: int, *, skip: int = 0
) -> RenderableType:
    headers = ["", *map(metric_header, report.metrics)]
    room = metric_columns(report, width, _LEAST_NAME)
    rows = [
        [name, *task_cells(report, side.label)]
        for name, side in zip(short_labels(found, room), found.sides, strict=True)
    ][skip:]
    return table(headers, rows, right=tuple(headers[1:]))
