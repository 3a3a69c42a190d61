"""Where an error starts, on the terminal: under the side it belongs to."""

from __future__ import annotations

import math

from rich.console import RenderableType
from rich.text import Text

from enginescope.analysis.bisection.error_growth import Bisected
from enginescope.analysis.bisection.growth_rows import telling_steps
from enginescope.render.base.phrases import shorten
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.bisection.bisect_phrases import (
    also_text,
    bar,
    growth_row,
    not_finite_text,
    scope_text,
    spark,
    start_text,
    why_text,
)

_NARROW = 76
_SPARK, _BESIDE_SPARK = 40, 46
_OPERATOR = 12
#: Columns that all but the names take, and the one of own errors and sizes in it.
_FIGURES, _OWN, _SIZE = 62, 10, 13
_LEAST_NAME = 12


def bisect_lines(found: Bisected, *, width: int = 80) -> list[RenderableType]:
    """Return the lines of one side."""
    label = "starts at" if found.first else "inside"
    lines: list[RenderableType] = [label_row(label, start_text(found), "bold")]
    for label, text in (
        ("why", why_text(found)),
        ("not finite", not_finite_text(found)),
        ("also over", also_text(found)),
        ("looked at", scope_text(found)),
    ):
        lines += [label_row(label, text)] if text else []
    drawn = spark(found.steps, min(_SPARK, width - _BESIDE_SPARK))
    if drawn is not None:
        lines += [label_row("growth", f"{drawn[0]}  {drawn[1]}")]
    lines += [Text(), _table(found, width)] if found.steps else []
    lines += [Text()]
    return [*lines, *notice_lines(found.notices)]


def _table(found: Bisected, width: int) -> RenderableType:
    steps = telling_steps(found)
    known = [step.error.error for step in found.steps if step.error.error and not step.error.odd]
    low, high = (math.log10(min(known)), math.log10(max(known))) if known else (0.0, 0.0)
    headers = ["tensor", "operator", "", "err ÷ spread", "inputs'", "own", "|reference|"]
    rows = []
    for step in steps:
        cells = list(growth_row(step, found))
        mark = "∞" if step.error.odd else bar(step.error.error or 0.0, low, high)
        cells[3] = f"{cells[3]} {mark}"
        rows.append(cells)
    room = width - _FIGURES
    with_own = any(step.own_error is not None for step in steps) and room >= _OWN + _LEAST_NAME
    if with_own:
        room -= _OWN
    else:
        headers.pop(5)
        rows = [[*row[:5], *row[6:]] for row in rows]
    if width < _NARROW:
        headers.pop()
        rows = [row[:-1] for row in rows]
        room += _SIZE
    room = max(_LEAST_NAME, room)
    rows = [[shorten(row[0], room), shorten(row[1], _OPERATOR), *row[2:]] for row in rows]
    return table(headers, rows, right=tuple(headers[3:]))
