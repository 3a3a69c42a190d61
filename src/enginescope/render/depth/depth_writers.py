"""Writers of a benchmark of depth-estimation models: terminal and JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.render.accuracy.task_words import left_out_lines
from enginescope.render.accuracy.task_writers import score_tables, task_data, task_samples_data
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.depth.depth_words import (
    SPEED_HEADERS,
    benchmark_notices,
    benchmark_title,
    gpu_text,
    quality_title,
    shared_text,
    short_labels,
    speed_cells,
)

_NARROW = 76
_SPEED_COLUMNS = 56
_LEAST_NAME = 10


def depth_text(
    found: DepthBenchmark, files: Sequence[str] = (), *, width: int = 80, store: str | None = None
) -> RenderableType:
    """Return the screen: speed, agreement, figures against known depth, and what weakens them.

    Args:
        files: That were written.
        store: Where the runs lie, if that must be said to the next command.
    """
    lines: list[RenderableType] = [Text(benchmark_title(found), style="bold"), Text()]
    shared = shared_text(found)
    lines += [_speed(found, width), *([Text(shared, style="dim")] if shared else []), Text()]
    if found.agreement is not None:
        first = short_labels(found, 40)[0]
        title = f"Maps of {found.image_name}, each brought to 0…1, against {first}"
        labels = short_labels(found, 40)[1:]
        lines += [Text(title), *score_tables(found.agreement, labels, width)]
    if found.quality is not None:
        title = quality_title(found.quality, found.image_name)
        lines += [Text(title), *score_tables(found.quality, short_labels(found, 40), width)]
        left_out = left_out_lines(found.quality)
        lines += [label_row(label, text) for label, text in left_out]
        lines += [Text()] if left_out else []
    lines += notice_lines(benchmark_notices(found))
    lines += [Text(f"  {file}") for file in files]
    runs = " ".join(side.view.id[:6] for side in found.sides)
    where = f" --store {shlex.quote(store)}" if store else ""
    then = f"which is faster: enginescope compare {runs}{where}"
    lines.append(Text(f"  {then}" if len(found.sides) > 1 else f"  run {runs}"))
    return Group(*lines)


def _speed(found: DepthBenchmark, width: int) -> RenderableType:
    headers = ["latency", *SPEED_HEADERS]
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


def depth_json(found: DepthBenchmark) -> bytes:
    """Return all figures."""
    data = {
        "enginescope": __version__,
        "command": found.sides[0].view.run.command,
        "image": found.image_name,
        "sides": [_side(side) for side in found.sides],
        "agreement": _report(found.agreement),
        "quality": _report(found.quality),
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"


def _side(one: DepthSide) -> dict[str, Any]:
    view = one.view
    latency, throughput = view.latency, view.throughput
    return {
        "side": one.label,
        "run": view.id,
        "outcome": view.run.outcome.kind,
        "latency": latency,
        "throughput_per_s": throughput.per_s if throughput else None,
        "map_shape": list(one.depth.shape),
        "map_least": float(one.depth.min()),
        "map_greatest": float(one.depth.max()),
        "gpu": gpu_text(one),
        "notices": view.notices,
    }


def _report(report: TaskReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {**task_data(report), "samples": task_samples_data(report)}
