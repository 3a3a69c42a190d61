"""A job's history on the terminal, with a plot of dots, and histories as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.core.record import Record
from enginescope.core.units import format_significant
from enginescope.records.verdict.history import JobHistory
from enginescope.render.verdicts.history_phrases import (
    cause_texts,
    change_sentence,
    letter,
    levels_sentence,
    open_sentence,
)

#: Columns of the table of changes.
HEADERS = ("", "changes of level, and what changed with them")


def history_plot(found: JobHistory, *, width: int = 80) -> tuple[str, ...]:
    """Return the series as lines, changes under their letters; the unit above the axis."""
    plot = dot_plot(
        [point.value for point in found.points],
        levels=[
            Stretch(first=level.first, last=level.last, value=level.value) for level in found.levels
        ],
        marks=[(one.at, letter(number)) for number, one in enumerate(found.sure)],
        width=width,
    )
    return (f"{found.unit}", *plot)


def history_rows(found: JobHistory) -> tuple[tuple[str, str], ...]:
    """Return every change under its letter, the oldest first."""
    rows = [(letter(number), "\n".join(_lines(found, number))) for number in range(len(found.sure))]
    rows += [("?", open_sentence(found, change)) for change in found.changes if not change.is_sure]
    return tuple(rows)


def _lines(found: JobHistory, number: int) -> Iterator[str]:
    change = found.sure[number]
    yield change_sentence(found, change)
    levels = levels_sentence(found, change)
    if levels:
        yield levels
    yield from cause_texts(change)


#: Version of the document's shape.
HISTORY_SCHEMA = 1


def history_json(found: Sequence[JobHistory]) -> bytes:
    """Return every series with its points, levels and changes as strict JSON."""
    return encode({"schema": HISTORY_SCHEMA, "enginescope": __version__, "series": list(found)})


_DOT, _LEVEL, _MARK = "•", "─", "┊"
_DIGITS = (3, 4, 5, 6)
_TICKS = 4


class Stretch(Record, frozen=True, kw_only=True):
    """A level from one place of the series to another, both in it."""

    first: int
    last: int
    value: float


def dot_plot(
    values: Sequence[float],
    *,
    levels: Sequence[Stretch] = (),
    marks: Sequence[tuple[int, str]] = (),
    width: int = 80,
    height: int = 11,
) -> tuple[str, ...]:
    """Return the lines of a plot; where there are more values than columns, several share one.

    Args:
        values: One or more, in their order.
        marks: Places that a line stands before, with the letter below it.
        width, height: In characters; the height without the axis.
    """
    low, high = _scale([*values, *(level.value for level in levels)])
    labels = _labels(low, high, height)
    margin = max(map(len, labels.values()))
    columns = max(8, min(width - margin - 3, 3 * len(values)))
    grid = [[" "] * columns for _ in range(height)]

    def column(place: float) -> int:
        return min(columns - 1, int((place + 0.5) * columns / len(values)))

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    for place, _ in marks:
        for line in grid:
            line[column(place - 0.5)] = _MARK
    for level in levels:
        for at in range(column(level.first), column(level.last) + 1):
            grid[row(level.value)][at] = _LEVEL
    for place, value in enumerate(values):
        grid[row(value)][column(place)] = _DOT
    lines = [
        f"{labels.get(at, ''):>{margin}} {'┤' if at in labels else '│'} {''.join(line)}".rstrip()
        for at, line in enumerate(grid)
    ]
    foot = ["─"] * columns
    for place, mark in marks:
        foot[column(place - 0.5)] = mark
    return (*lines, f"{'':>{margin}} └─{''.join(foot)}")


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.01 * abs(high) or 1.0
    return low - room, high + room


def _labels(low: float, high: float, height: int) -> dict[int, str]:
    """Return the text at some rows, with digits enough to tell them apart."""
    rows = sorted({round(at * (height - 1) / (_TICKS - 1)) for at in range(_TICKS)})
    amounts = [high - at * (high - low) / (height - 1) for at in rows]
    texts: list[str] = []
    for digits in _DIGITS:
        texts = [format_significant(amount, digits) for amount in amounts]
        if len(set(texts)) == len(texts):
            break
    return dict(zip(rows, texts, strict=True))
