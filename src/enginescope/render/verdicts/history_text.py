"""A job's history on the terminal.

Histories as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginescope._version import __version__
from enginescope.core.jsonio import encode
from enginescope.records.verdict.history import JobHistory
from enginescope.render.verdicts.dot_plot import Stretch, dot_plot
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
