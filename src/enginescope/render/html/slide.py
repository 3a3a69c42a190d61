"""One picture of an answer, 16:9, for a slide or a chat."""

from __future__ import annotations

import re
from textwrap import wrap

from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.palette import document, letters, line, words
from enginescope.render.html.images import Chart, svg_png, svg_text

_WIDTH, _HEIGHT, _MARGIN = 1600, 900, 64
#: Sizes of the answer from large to small, with the most lines of each.
_SIZES = ((44, 2), (36, 3), (28, 4))
_TEXT, _SMALL = 24, 19
#: Most lines below the answer, and of the conditions.
_LINES = 3
#: A chart's pixels, before it is fitted into its place.
_CHART_HEIGHT = 330
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


class Slide(Record, frozen=True, kw_only=True):
    """What one picture says.

    Attributes:
        answer: One sentence.
        lines: What qualifies it.
        chart: ``None``: there is nothing to draw.
        conditions: Machine, versions, counts.
        notices: The weightiest warning is shown.
    """

    answer: str
    lines: tuple[str, ...] = ()
    chart: Chart | None = None
    conditions: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def slide_png(slide: Slide) -> bytes:
    """Return the picture: the answer, the chart, and the conditions below it."""
    y = float(_MARGIN)
    size, told = _fitted(slide.answer)
    parts: list[str] = []
    for text in told:
        y += size if not parts else 1.2 * size
        parts.append(words(_MARGIN, y, text, size=size, is_bold=True))
    below = [text for each in slide.lines for text in _wrapped(each, _TEXT)][:_LINES]
    for text in below:
        y += 1.5 * _TEXT
        parts.append(words(_MARGIN, y, text, size=_TEXT, is_soft=True))
    bottom = [text for each in _remarks(slide) for text in _wrapped(each, _SMALL)][:_LINES]
    end = _HEIGHT - _MARGIN - 1.5 * _SMALL * len(bottom)
    if slide.chart is not None:
        parts.append(_placed(slide.chart, y + 28, end - 24))
    parts.append(line(_MARGIN, end - 6, _WIDTH - _MARGIN, end - 6))
    for at, text in enumerate(bottom, 1):
        parts.append(words(_MARGIN, end + 1.5 * _SMALL * at, text, size=_SMALL, is_soft=True))
    corner = _HEIGHT - _MARGIN / 2
    parts.append(
        words(_WIDTH - _MARGIN, corner, "enginescope", size=_SMALL, is_soft=True, anchor="end")
    )
    return svg_png(document(_WIDTH, _HEIGHT, parts), 1.0)


def _remarks(slide: Slide) -> list[str]:
    first = weightiest(slide.notices)[:1]
    warnings = [f"! {notice.message} ({notice.code})" for notice in first]
    return [*warnings, " · ".join(slide.conditions)]


def _fitted(answer: str) -> tuple[int, list[str]]:
    """Return the largest size in which the answer has room, and its lines."""
    size, told = 0, [""]
    for size, most in _SIZES:
        told = _wrapped(answer, size)
        if len(told) <= most:
            break
    return size, told


def _wrapped(text: str, size: int) -> list[str]:
    return wrap(text, letters(_WIDTH - 2 * _MARGIN, size)) or []


def _placed(chart: Chart, top: float, bottom: float) -> str:
    """Return a chart as large as its place lets it be."""
    tall = max(chart.height, _CHART_HEIGHT)
    drawn = svg_text(replace(chart, height=tall))
    found = _SIZE.search(drawn)
    assert found is not None
    inner = drawn[drawn.index("<svg") :].replace(found[0], "<svg", 1)
    box = f'viewBox="0 0 {found[1]} {found[2]}"' if "viewBox" not in inner[:400] else ""
    place = (
        f'x="{_MARGIN}" y="{top:.0f}" width="{_WIDTH - 2 * _MARGIN}" height="{bottom - top:.0f}"'
    )
    return inner.replace("<svg", f'<svg {place} {box} preserveAspectRatio="xMidYMid meet"', 1)
