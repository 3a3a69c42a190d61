"""Writers of a benchmark of depth-estimation models: terminal and JSON.

Depth-estimation models compared, in words and cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.analysis.claims import percentile
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide
from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_ms, format_significant, range_text
from enginescope.render.accuracy.task_words import left_out_lines
from enginescope.render.accuracy.task_writers import score_tables, task_data, task_samples_data
from enginescope.render.base.figures import UNKNOWN, figure
from enginescope.render.base.phrases import outcome_text, shared_notices, shorten_apart
from enginescope.render.base.shared_options import BETWEEN, ToldApart, on_text, told_apart
from enginescope.render.base.text import label_row, notice_lines, table

#: Columns of the table of speeds, after the side's label.
SPEED_HEADERS = ("median ms", "95 % CI ms", "p95 ms", "p99 ms", "/s", "n")


def short_labels(found: DepthBenchmark, limit: int) -> list[str]:
    """Return the sides' labels, without what all have in common: `shared_text` says it."""
    return shorten_apart(_apart(found).labels, limit)


def shared_text(found: DepthBenchmark) -> str | None:
    """Return what the sides' labels leave out and no title says; ``None``: nothing."""
    shared = _apart(found).shared
    return f"{shared[0].upper()}{shared[1:]}" if shared else None


def _apart(found: DepthBenchmark) -> ToldApart:
    parts = [side.label.rpartition(BETWEEN) for side in found.sides]
    models, _, backends = zip(*parts, strict=True)
    if len(set(backends)) == 1 and len(set(models)) == len(models):
        return ToldApart(labels=models, shared=on_text(backends[0]))
    apart = told_apart(backends)
    if len(set(models)) == 1:
        return apart
    both = zip(models, apart.labels, strict=True)
    return ToldApart(labels=tuple(map(BETWEEN.join, both)), shared=apart.shared)


def benchmark_title(found: DepthBenchmark) -> str:
    """Return which models estimated the depth of which image."""
    names = list(dict.fromkeys(side.label.rpartition(BETWEEN)[0] for side in found.sides))
    models = names[0] if len(names) == 1 else f"{len(names)} models"
    return f"Depth of {found.image_name} by {models}"


def speed_cells(side: DepthSide) -> tuple[str, ...]:
    """Return a side's speed below `SPEED_HEADERS`; dashes where it was not measured."""
    latency, throughput = side.view.latency, side.view.throughput
    if latency is None:
        return (outcome_text(side.view.run.outcome), *[UNKNOWN] * 5)
    interval = latency.median_interval
    return (
        figure(latency.median_ms),
        range_text(interval.low, interval.high) if interval else UNKNOWN,
        percentile_cell(side, 95),
        percentile_cell(side, 99),
        figure(throughput.per_s if throughput else None),
        f"{latency.n:,}",
    )


def percentile_cell(side: DepthSide, p: float) -> str:
    """Return a percentile with its interval or its mark."""
    latency = side.view.latency
    return percentile.cell(latency.percentile(p) if latency else None, figure)


def speed_lines(side: DepthSide) -> tuple[str, ...]:
    """Return median, rate and n of a side, and the median's interval below."""
    latency, throughput = side.view.latency, side.view.throughput
    if latency is None:
        return (outcome_text(side.view.run.outcome),)
    rate = f" · {format_significant(throughput.per_s, 4)} /s" if throughput else ""
    first = f"median {format_ms(latency.median_ms)}{rate} · n {latency.n:,}"
    interval = latency.median_interval
    if interval is None:
        return (first, "no interval: too few independent samples")
    return (first, f"95 % CI {range_text(interval.low, interval.high)} ms")


def quality_title(report: TaskReport, image: str) -> str:
    """Return over what the figures against ground-truth depth were taken."""
    if report.counted == 1:
        return f"Against ground-truth depth of {report.sides[0].samples[0].name or image}"
    return f"Against ground-truth depth, means over {report.counted:,} pictures"


def gpu_text(side: DepthSide) -> str:
    """Return which GPU was sampled, or why none was."""
    gpu = side.view.run.gpu
    if gpu is not None and gpu.series is not None:
        return gpu.gpu.name
    said = [notice.message for notice in side.view.notices if notice.code == "W-NO-TELEMETRY"]
    return said[0] if said else "no telemetry of a GPU"


def benchmark_notices(found: DepthBenchmark) -> tuple[Notice, ...]:
    """Return the warnings about the figures, each once, with its sides."""
    sides = []
    for side, label in zip(found.sides, short_labels(found, 40), strict=True):
        notices = list(side.view.notices)
        for report in (found.agreement, found.quality):
            scored = found.scored(report, side.label)
            notices += scored.scores.notices if scored else ()
        sides.append((label, [notice for notice in notices if notice.level == "warning"]))
    return shared_notices(sides)


#: Columns that a narrow screen leaves out, the first one first.
_SPARE = ("p95 ms", "n", "p99 ms")
_GAP = 2
_LEAST_NAME = 10


def depth_text(
    found: DepthBenchmark, files: Sequence[str] = (), *, width: int = 80
) -> RenderableType:
    """Return the screen: speed, agreement, figures against ground-truth depth, and their notices.

    Args:
        files: That were written.
    """
    lines: list[RenderableType] = [Text(benchmark_title(found), style="bold"), Text()]
    shared = shared_text(found)
    lines += [_speed(found, width), *([Text(shared, style="dim")] if shared else []), Text()]
    if found.agreement is not None:
        first = short_labels(found, 40)[0]
        title = f"Maps of {found.image_name}, each scaled to 0…1, against {first}"
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
    lines.append(Text(f"  {'runs' if len(found.sides) > 1 else 'run'} {runs}"))
    return Group(*lines)


def _speed(found: DepthBenchmark, width: int) -> RenderableType:
    columns = list(zip(SPEED_HEADERS, *map(speed_cells, found.sides), strict=True))
    for spare in _SPARE:
        if _room(columns, width) >= _LEAST_NAME:
            break
        columns = [column for column in columns if column[0] != spare]
    names = short_labels(found, max(_LEAST_NAME, _room(columns, width)))
    headers, *rows = zip(("latency", *names), *columns, strict=True)
    return table(headers, rows, right=headers[1:])


def _room(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return how many characters columns leave to the names before them."""
    return width - sum(_GAP + max(map(len, column)) for column in columns)


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
