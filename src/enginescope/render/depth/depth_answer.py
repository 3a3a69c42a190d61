"""A benchmark of depth-estimation models: terminal, JSON and its three pictures."""

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from rich.console import Group, RenderableType
from rich.text import Text

from enginescope._version import __version__
from enginescope.analysis.claims import run_claims
from enginescope.analysis.claims.run_claims import note
from enginescope.analysis.tasks.depth_agreement import DepthBenchmark, DepthSide, unit_map
from enginescope.analysis.tasks.segmentation import bilinear
from enginescope.analysis.tasks.task_scoring import TaskReport
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.judge.units import format_ms, format_significant, range_text
from enginescope.render.accuracy.task_answer import (
    left_out_facts,
    score_table,
    task_data,
    task_figure,
    task_samples_data,
)
from enginescope.render.base.facts import place_line
from enginescope.render.base.figures import UNKNOWN, TextTable, figure
from enginescope.render.base.palette import document, letters, line, picture, words
from enginescope.render.base.phrases import outcome_text, shared_notices
from enginescope.render.base.short_names import (
    BETWEEN,
    ToldApart,
    on_text,
    shorten_apart,
    told_apart,
)
from enginescope.render.base.text import label_row, notice_lines, stacked
from enginescope.render.charts.estimates import latency_medians
from enginescope.render.charts.telemetry import PANELS, telemetry_picture
from enginescope.render.html.images import Chart, heat_png, png_bytes, rgb_png, svg_png, svg_text

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
        *(percentile_cell(side, p) for p in (95, 99)),
        figure(throughput.per_s if throughput else None),
        f"{latency.n:,}",
    )


def percentile_cell(side: DepthSide, p: float) -> str:
    """Return a percentile with its interval or its mark."""
    latency = side.view.latency
    return run_claims.cell(latency.percentile(p) if latency else None, figure)


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
    for side, label in zip(found.sides, short_labels(found, _MOST_NAME), strict=True):
        notices = list(side.view.notices)
        for report in (found.agreement, found.quality):
            scored = found.scored(report, side.label)
            notices += scored.scores.notices if scored else ()
        sides.append((label, [notice for notice in notices if notice.level == "warning"]))
    return shared_notices(sides)


_MOST_NAME = 40


def depth_text(
    found: DepthBenchmark, files: Sequence[str] = (), *, width: int = 80
) -> RenderableType:
    """Return the screen: speed, agreement, figures against ground-truth depth, and their notices.

    Args:
        files: That were written.
    """
    lines: list[RenderableType] = [Text(benchmark_title(found), style="bold"), Text()]
    lines += stacked([_speed(found)], width)
    first, *others = labels = short_labels(found, _MOST_NAME)
    if found.agreement is not None:
        title = f"Maps of {found.image_name}, each scaled to 0…1, against {first}"
        lines += [Text(title), *stacked([score_table(found.agreement, others)], width)]
    if found.quality is not None:
        title = quality_title(found.quality, found.image_name)
        lines += [Text(title), *stacked([score_table(found.quality, labels)], width)]
        left_out = [label_row(*fact) for fact in left_out_facts(found.quality)]
        lines += left_out
        lines += [Text()] if left_out else []
    lines += notice_lines(benchmark_notices(found))
    lines += [Text(f"  {file}") for file in files]
    runs = " ".join(side.view.id[:6] for side in found.sides)
    lines.append(Text(f"  {'runs' if len(found.sides) > 1 else 'run'} {runs}"))
    return Group(*lines)


def _speed(found: DepthBenchmark) -> TextTable:
    sides = zip(short_labels(found, _MOST_NAME), found.sides, strict=True)
    return TextTable(
        title="Latency",
        headers=("latency", *SPEED_HEADERS),
        rows=tuple((name, *speed_cells(side)) for name, side in sides),
        numbers=SPEED_HEADERS,
        shortened={"latency": 0},
        spared=("p95 ms", "n", "p99 ms"),
        note=shared_text(found),
    )


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
    return {
        "side": one.label,
        "run": view.id,
        "outcome": view.run.outcome.kind,
        "latency": view.latency,
        "throughput_per_s": view.throughput.per_s if view.throughput else None,
        "map_shape": list(one.depth.shape),
        "map_least": float(one.depth.min()),
        "map_greatest": float(one.depth.max()),
        "gpu": gpu_text(one),
        "notices": view.notices,
    }


def _report(report: TaskReport | None) -> dict[str, Any] | None:
    return None if report is None else {**task_data(report), "samples": task_samples_data(report)}


_MARGIN, _GAP, _WIDTH, _LINE, _BAR = 24.0, 20.0, 300.0, 17.0, 8.0


class _Panel(Record, frozen=True, kw_only=True):
    title: str
    lines: tuple[str, ...]
    png: bytes
    scale: tuple[str, str] | None = None


def depth_panels(found: DepthBenchmark) -> str:
    """Return the figure as SVG."""
    first = _first(found)
    rows = _in_rows(first + _maps(found))
    apart = _differences(found)
    under = (None,) * (len(first) + 1) if len(rows) == 1 else ()
    rows += _in_rows([*under, *apart]) if apart else []
    height, width = found.image.shape[:2]
    tall = min(_WIDTH * height / width, 1.5 * _WIDTH)
    most = max(len(row) for row in rows)
    across = 2 * _MARGIN + most * _WIDTH + (most - 1) * _GAP
    parts, y = _head(found, across)
    for row in rows:
        top = y + _LINE * (max(len(one.lines) for one in row if one is not None) + 1)
        for column, one in enumerate(row):
            x = _MARGIN + column * (_WIDTH + _GAP)
            parts += _drawn(one, x, y, top, tall) if one is not None else []
        y = top + tall + _BAR + 46
    return document(across, y, parts)


def _head(found: DepthBenchmark, across: float) -> tuple[list[str], float]:
    about = ["Latency of single images, all copies included"]
    if found.agreement is not None:
        about.append("RMSE against the first: maps scaled to 0…1")
    if found.quality is not None:
        about.append(quality_title(found.quality, found.image_name).lower())
    parts, y = [words(_MARGIN, 34, benchmark_title(found), size=18, is_bold=True)], 54.0
    room = letters(across - 2 * _MARGIN, 12)
    for text in (*wrap("; ".join(about), room), *wrap(shared_text(found) or "", room)):
        parts.append(words(_MARGIN, y, text, is_soft=True))
        y += _LINE
    return parts, y + 14


def _in_rows(panels: Sequence[_Panel | None]) -> list[Sequence[_Panel | None]]:
    each = math.ceil(len(panels) / math.ceil(len(panels) / 4))
    return [panels[at : at + each] for at in range(0, len(panels), each)]


def _drawn(one: _Panel, x: float, y: float, top: float, tall: float) -> list[str]:
    parts = [words(x, y + 4, one.title[: letters(_WIDTH, 14)], size=14, is_bold=True)]
    parts += [words(x, y + 4 + _LINE * (n + 1), text) for n, text in enumerate(one.lines)]
    parts.append(picture(x, top, (_WIDTH, tall), one.png))
    if one.scale is not None:
        ramp = heat_png(np.linspace(0, 1, 256)[None, :], 0, 1)
        below = top + tall + 6
        parts.append(picture(x, below, (_WIDTH, _BAR), ramp))
        parts.append(words(x, below + _BAR + 14, one.scale[0], is_soft=True))
        parts.append(words(x + _WIDTH, below + _BAR + 14, one.scale[1], is_soft=True, anchor="end"))
    return parts


def _first(found: DepthBenchmark) -> list[_Panel]:
    height, width = found.image.shape[:2]
    text = f"{width:,} × {height:,} pixels"
    image = _Panel(title="Picture", lines=(text,), png=rgb_png(_thin(found.image)))
    if found.target is None:
        return [image]
    known = np.where(found.target > 0, found.target, np.nan)
    share = 100 * float(np.isfinite(known).mean())
    low, high = _ends(known)
    lines = (f"known for {share:.0f} % of the pixels",)
    png = heat_png(_thin(known), low, high)
    target = _Panel(title="Ground truth", lines=lines, png=png, scale=(f"{low:.3g}", f"{high:.3g}"))
    return [image, target]


def _maps(found: DepthBenchmark) -> list[_Panel]:
    """Return the sides' maps on one scale, so that equal colors are equal values."""
    ends = [_ends(one.depth) for one in found.sides]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    return [
        _Panel(
            title=label,
            lines=_lines(found, side),
            png=heat_png(_thin(side.depth), low, high),
            scale=(f"{low:.3g}", f"{high:.3g}, as the model gives it"),
        )
        for label, side in zip(short_labels(found, letters(_WIDTH, 14)), found.sides, strict=True)
    ]


def _lines(found: DepthBenchmark, side: DepthSide) -> tuple[str, ...]:
    lines = [*speed_lines(side)]
    if found.quality is not None:
        lines.append(_named(found.quality, side, ("abs_rel", "rmse", "d1")))
    if found.agreement is not None:
        is_first, agreement = side is found.sides[0], _named(found.agreement, side, ("rmse",))
        lines.append("the others are compared with it" if is_first else agreement)
    return tuple(lines)


def _named(report: TaskReport, side: DepthSide, names: tuple[str, ...]) -> str:
    values = next((one.scores.values for one in report.sides if one.label == side.label), {})
    titles = {metric.name: metric.title for metric in report.metrics}
    text = " · ".join(f"{titles[name]} {task_figure(values.get(name))}" for name in names)
    return f"{text} to the first" if report.against == "reference" else text


def _differences(found: DepthBenchmark) -> list[_Panel]:
    first, *others = found.sides
    size = first.depth.shape
    base = unit_map(first.depth)
    apart = [np.abs(unit_map(bilinear(other.depth, size)) - base) for other in others]
    most = max((float(one.max(where=np.isfinite(one), initial=0.0)) for one in apart), default=0.0)
    labels = dict(zip(found.sides, short_labels(found, letters(_WIDTH, 14) - 12), strict=True))
    return [
        _Panel(
            title=f"{labels[side]}: apart",
            lines=("|difference to the first|, maps of 0…1",),
            png=heat_png(_thin(values), 0, most),
            scale=("0", task_figure(most)),
        )
        for side, values in zip(others, apart, strict=True)
    ]


def _ends(values: Any) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def _thin(values: Any) -> Any:
    step = max(1, math.ceil(max(values.shape[:2]) / 640))  # the longest side of a drawn map
    return np.ascontiguousarray(values[::step, ::step])


_SCALE, _ROW = 2.0, 26.0


def depth_figures(found: DepthBenchmark) -> dict[str, bytes]:
    """Return the pictures by the names of their files, as PNG."""
    chart = gpu_chart(found)
    return {
        "depth_comparison.png": svg_png(depth_panels(found), _SCALE),
        "speed_benchmark.png": svg_png(speed_figure(found), _SCALE),
        **({"gpu_utilization.png": png_bytes(chart)} if chart else {}),
    }


def speed_figure(found: DepthBenchmark) -> str:
    """Return the medians of every side's latency over a table of its figures, as SVG."""
    pairs = list(zip(short_labels(found, 34), found.sides, strict=True))
    chart = latency_medians([(label, one.view) for label, one in pairs])
    drawn = svg_text(chart) if chart else ""
    size = re.search(r'<svg [^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"', drawn)
    width, top = (float(size[1]), float(size[2])) if size else (0.0, 20.0)
    width = max(width, 1000.0)
    parts = [drawn]
    rows = [(label, *speed_cells(one)) for label, one in pairs]
    for number, row in enumerate((("model", *SPEED_HEADERS), *rows)):
        parts += _table_row(row, width, top + number * _ROW, is_head=number == 0)
    y = top + (len(rows) + 1) * _ROW + 4
    about = (
        "Milliseconds from call to output, copies included; /s: batch ÷ mean. Models were timed "
        "one after the other: compare decides which is faster"
    )
    marked = note([percentile_cell(side, p) for side in found.sides for p in (95, 99)])
    shared = wrap(shared_text(found) or "", letters(width - 2 * _MARGIN, 12))
    for text in filter(None, (about, marked, *shared, place_line(found.sides[0].view.run))):
        y += 18
        parts.append(words(_MARGIN, y, text, is_soft=True))
    return document(width, y + 24, parts)


def _table_row(row: tuple[str, ...], width: float, y: float, *, is_head: bool) -> list[str]:
    parts, right = [], _MARGIN
    shares = (0.35, 0.1, 0.17, 0.14, 0.14, 0.05, 0.05)
    for at, (text, share) in enumerate(zip(row, shares, strict=True)):
        right += share * (width - 2 * _MARGIN)
        place, anchor = (_MARGIN, "start") if at == 0 else (right, "end")
        parts.append(words(place, y + 16, text, is_soft=is_head, anchor=anchor))
    return [*parts, line(_MARGIN, y + _ROW, width - _MARGIN, y + _ROW)]


def gpu_chart(found: DepthBenchmark) -> Chart | None:
    """Return what the GPU reported; ``None`` where there was none."""
    shown = ("gpu_utilization", "gpu_memory_utilization", "gpu_memory", "gpu_sm_clock")
    panels = tuple(panel for panel in PANELS if panel.key in shown)
    views = [side.view for side in found.sides]
    drawn = telemetry_picture(views, panels, short_labels(found, 60))
    if drawn is None:
        return None
    title = f"{', '.join(dict.fromkeys(map(gpu_text, found.sides)))} over the telemetry pass"
    below = wrap(shared_text(found) or "", 110)
    return structs.replace(drawn, title=title, subtitle=(*drawn.subtitle, *below))
