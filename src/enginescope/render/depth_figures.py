"""The three pictures of ``depth``."""

from __future__ import annotations

import re
from textwrap import wrap

from msgspec import structs

from enginescope.analysis.depth_benchmark import DepthBenchmark, DepthSide
from enginescope.render.charts.latency_boxes import latency_boxes
from enginescope.render.charts.spec import Chart
from enginescope.render.charts.telemetry import PANELS, telemetry_picture
from enginescope.render.charts.worker_memory import worker_memory
from enginescope.render.depth_panels import depth_panels
from enginescope.render.depth_words import gpu_text, percentile_cell, shared_text, short_labels
from enginescope.render.facts import place_line
from enginescope.render.figures import UNKNOWN, figure
from enginescope.render.images import png_bytes, svg_png, svg_text
from enginescope.render.phrases import outcome_text, range_text
from enginescope.render.svg_text import document, letters, line, words

_SCALE = 2.0
#: What the figure shows of a GPU.
_QUANTITIES = ("gpu_utilization", "gpu_memory_utilization", "gpu_memory", "gpu_sm_clock")
_SIZE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_HEADERS = (
    "model",
    "mean",
    "SD",
    "median (p50)",
    "95 % CI",
    "p95",
    "p99",
    "min",
    "max",
    "/s",
    "n",
)
_SHARES = (0.225, 0.075, 0.065, 0.1, 0.14, 0.075, 0.075, 0.065, 0.065, 0.065, 0.05)
_ROW, _MARGIN, _WIDTH = 26.0, 24.0, 1080.0
#: Letters of a line of the legend, and of one below the title.
_LEGEND, _SUBTITLE = 60, 110


def depth_figures(found: DepthBenchmark) -> dict[str, bytes]:
    """Return the pictures by the names of their files, as PNG.

    Raises
    ------
    MissingDependencyError
        vl-convert is not installed.
    """
    return {
        "depth_comparison.png": svg_png(depth_panels(found), _SCALE),
        "speed_benchmark.png": svg_png(speed_figure(found), _SCALE),
        "gpu_utilization.png": png_bytes(gpu_chart(found)),
    }


def speed_figure(found: DepthBenchmark) -> str:
    """Return boxes of every side's latency over a table of its figures, as SVG."""
    labels = short_labels(found, 34)
    chart = latency_boxes(
        [(label, one.view) for label, one in zip(labels, found.sides, strict=True)]
    )
    drawn = svg_text(chart) if chart else ""
    size = _SIZE.search(drawn)
    width, top = (max(float(size[1]), _WIDTH), float(size[2])) if size else (_WIDTH, 20.0)
    parts = [drawn]
    rows = [(label, *_cells(one)) for label, one in zip(labels, found.sides, strict=True)]
    for number, row in enumerate((_HEADERS, *rows)):
        parts += _table_row(row, width, top + number * _ROW, is_head=number == 0)
    y = top + (len(rows) + 1) * _ROW + 4
    for text in _remarks(found, letters(width - 2 * _MARGIN, 12)):
        y += 18
        parts.append(words(_MARGIN, y, text, is_soft=True))
    return document(width, y + 24, parts)


def _table_row(row: tuple[str, ...], width: float, y: float, *, is_head: bool) -> list[str]:
    parts, right = [], _MARGIN
    for at, (text, share) in enumerate(zip(row, _SHARES, strict=True)):
        right += share * (width - 2 * _MARGIN)
        place, anchor = (_MARGIN, "start") if at == 0 else (right, "end")
        parts.append(words(place, y + 16, text, is_soft=is_head, anchor=anchor))
    return [*parts, line(_MARGIN, y + _ROW, width - _MARGIN, y + _ROW)]


def _cells(side: DepthSide) -> tuple[str, ...]:
    latency, throughput = side.view.latency, side.view.throughput
    if latency is None:
        return (outcome_text(side.view.run.outcome), *[UNKNOWN] * (len(_HEADERS) - 2))
    interval = latency.median_interval
    return (
        figure(latency.mean_ms),
        figure(latency.std_ms, 3),
        figure(latency.median_ms),
        range_text(interval.low, interval.high) if interval else UNKNOWN,
        percentile_cell(side, 95),
        percentile_cell(side, 99),
        figure(latency.min_ms),
        figure(latency.max_ms),
        figure(throughput.per_s if throughput else None),
        f"{latency.n:,}",
    )


def _remarks(found: DepthBenchmark, room: int) -> list[str]:
    text = (
        "Milliseconds from call to answer, copies included; SD of all samples; /s: batch ÷ mean. "
        "Models were timed one after the other: compare decides which is faster"
    )
    made = [text]
    if any(percentile_cell(one, p).endswith("*") for one in found.sides for p in (95, 99)):
        made.append("* too few samples to state it")
    made += wrap(shared_text(found) or "", room)
    place = place_line(found.sides[0].view.run)
    return [*made, place] if place else made


def gpu_chart(found: DepthBenchmark) -> Chart:
    """Return what the GPU reported; where there was none, that, and the memory of the workers."""
    views = [one.view for one in found.sides]
    panels = tuple(one for one in PANELS if one.key in _QUANTITIES)
    labels, shared = short_labels(found, _LEGEND), shared_text(found)
    below = tuple(wrap(shared or "", _SUBTITLE))
    drawn = telemetry_picture(views, panels, labels)
    if drawn is not None:
        gpus = dict.fromkeys(gpu_text(one) for one in found.sides)
        title = f"{', '.join(gpus)} over the telemetry pass"
        return structs.replace(drawn, title=title, subtitle=(*drawn.subtitle, *below))
    reasons = tuple(dict.fromkeys(gpu_text(one) for one in found.sides))
    pairs = [(label, view) for label, view in zip(labels, views, strict=True)]
    return worker_memory(pairs, title="No GPU was sampled", subtitle=(*reasons, *below))
