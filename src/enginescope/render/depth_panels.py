"""What models of depth see: picture, known depth, a map for each model, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from enginescope.analysis.depth_benchmark import DepthBenchmark, DepthSide
from enginescope.analysis.task_report import TaskReport
from enginescope.analysis.tasks.depth_agreement import unit_map
from enginescope.analysis.tasks.resampling import bilinear
from enginescope.core.record import Record
from enginescope.render.depth_words import (
    quality_title,
    shared_text,
    short_labels,
    speed_lines,
    subjects_text,
)
from enginescope.render.pixels import heat_png, rgb_png
from enginescope.render.svg_text import document, letters, picture, words
from enginescope.render.task_words import task_figure

_MARGIN, _GAP, _WIDTH = 24.0, 20.0, 300.0
_MOST_COLUMNS = 4
_LINE = 17.0
_BAR = 8.0
#: Longest side of a drawn map; more is thinned out.
_MOST_PIXELS = 640


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
        lines = max(len(one.lines) for one in row if one is not None)
        top = y + _LINE * (lines + 1)
        for column, one in enumerate(row):
            x = _MARGIN + column * (_WIDTH + _GAP)
            parts += _drawn(one, x, y, top, tall) if one is not None else []
        y = top + tall + _BAR + 46
    return document(across, y, parts)


def _head(found: DepthBenchmark, across: float) -> tuple[list[str], float]:
    title = f"Depth of {found.image_name} by {subjects_text(found)}"
    about = ["Latency of single pictures, all copies included"]
    if found.agreement is not None:
        about.append("RMSE to the first: of maps brought to 0…1")
    if found.quality is not None:
        about.append(quality_title(found.quality, found.image_name).lower())
    parts = [words(_MARGIN, 34, title, size=18, is_bold=True)]
    y = 54.0
    shared = shared_text(found)
    room = letters(across - 2 * _MARGIN, 12)
    for text in (*wrap("; ".join(about), room), *wrap(shared or "", room)):
        parts.append(words(_MARGIN, y, text, is_soft=True))
        y += _LINE
    return parts, y + 14


def _in_rows(panels: Sequence[_Panel | None]) -> list[Sequence[_Panel | None]]:
    count = math.ceil(len(panels) / _MOST_COLUMNS)
    each = math.ceil(len(panels) / count)
    return [panels[at : at + each] for at in range(0, len(panels), each)]


def _drawn(one: _Panel, x: float, y: float, top: float, tall: float) -> list[str]:
    room = letters(_WIDTH, 14)
    parts = [words(x, y + 4, one.title[:room], size=14, is_bold=True)]
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
    made = [_Panel(title="Picture", lines=(text,), png=rgb_png(_thin(found.image)))]
    if found.target is not None:
        known = np.where(found.target > 0, found.target, np.nan)
        share = 100 * float(np.isfinite(known).mean())
        low, high = _ends(known)
        made.append(
            _Panel(
                title="Known depth",
                lines=(f"known for {share:.0f} % of the pixels",),
                png=heat_png(_thin(known), low, high),
                scale=(f"{low:.3g}", f"{high:.3g}"),
            )
        )
    return made


def _maps(found: DepthBenchmark) -> list[_Panel]:
    """Return the sides' maps on one scale, so that equal colours are equal values."""
    ends = [_ends(one.depth) for one in found.sides]
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    labels = short_labels(found, letters(_WIDTH, 14))
    return [
        _Panel(
            title=label,
            lines=_lines(found, side),
            png=heat_png(_thin(side.depth), low, high),
            scale=(f"{low:.3g}", f"{high:.3g}, as the model gives it"),
        )
        for label, side in zip(labels, found.sides, strict=True)
    ]


def _lines(found: DepthBenchmark, side: DepthSide) -> tuple[str, ...]:
    made = [*speed_lines(side)]
    if found.quality is not None:
        made.append(_named(found.quality, side, ("abs_rel", "rmse", "d1")))
    if found.agreement is not None:
        first = side is found.sides[0]
        made.append(
            "the others are held against it" if first else _named(found.agreement, side, ("rmse",))
        )
    return tuple(made)


def _named(report: TaskReport, side: DepthSide, names: tuple[str, ...]) -> str:
    values = next((one.scores.values for one in report.sides if one.label == side.label), {})
    titles = {one.name: one.title for one in report.metrics}
    text = " · ".join(f"{titles[name]} {task_figure(values.get(name))}" for name in names)
    return f"{text} to the first" if report.against == "reference" else text


def _differences(found: DepthBenchmark) -> list[_Panel]:
    first, *others = found.sides
    size = first.depth.shape
    apart = [np.abs(unit_map(bilinear(one.depth, size)) - unit_map(first.depth)) for one in others]
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
    step = max(1, math.ceil(max(values.shape[:2]) / _MOST_PIXELS))
    return np.ascontiguousarray(values[::step, ::step])
