"""What came of keeping parts of a side in FP32, on the terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from enginescope.analysis.bisection.precision_trials import PrecisionTrials
from enginescope.render.base.phrases import shorten
from enginescope.render.base.text import label_row, table
from enginescope.render.bisection.precision_phrases import (
    FRONT,
    failures,
    suggestion_text,
    trial_row,
)

_NARROW = 76
_FIGURES, _INTERVAL = 60, 17
_LEAST_NAME = 16


def precision_lines(found: PrecisionTrials, *, width: int = 80) -> list[RenderableType]:
    """Return the lines of one side."""
    lines: list[RenderableType] = [label_row("keep FP32", suggestion_text(found), "bold")]
    one = found.suggested
    if one is not None and one.kind != "none":
        lines.append(label_row("that is", one.specification))
    if found.way:
        lines.append(label_row("tried by", f"{found.way}; {found.samples:,} samples each"))
    if not found.trials:
        return [*lines, Text()]
    lines += [Text(), _table(found, width)]
    lines.append(Text(f"{FRONT} nothing tried is both faster and nearer to the reference"))
    lines += [label_row("failed", failure) for failure in failures(found)]
    return [*lines, Text()]


def _table(found: PrecisionTrials, width: int) -> RenderableType:
    headers = ["kept in FP32", "nodes", "", "err ÷ spread", "median ms", "95 % CI ms", FRONT]
    rows = [list(trial_row(trial, found)) for trial in found.trials]
    room = width - _FIGURES
    if width < _NARROW:
        at = headers.index("95 % CI ms")
        headers.pop(at)
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
        room += _INTERVAL
    room = max(_LEAST_NAME, room)
    rows = [[shorten(row[0], room), *row[1:]] for row in rows]
    return table(headers, rows, right=("nodes", "err ÷ spread", "median ms", "95 % CI ms"))
