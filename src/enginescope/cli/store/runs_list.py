"""The list of stored runs, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enginescope.judge.units import format_significant
from enginescope.render.base.short_names import outcome_word, shorten_apart, told_apart
from enginescope.render.base.text_table import shown_text, table

if TYPE_CHECKING:
    from enginescope.store.row import RunRow

#: Characters of a run's id that the list shows.
SHORT_ID = 6
_GAP = 2
#: Columns for the tags where they are shortened: one comparison's, and how many more there are.
_LEAST_TAGS = 16
#: Columns that models and backends together must have left for the time, and for the tags.
_NAMES_BESIDE_MADE, _NAMES_BESIDE_TAGS = 24, 18
_LEAST_BACKEND = 7


def runs_list(rows: Sequence[RunRow], width: int) -> str:
    """Return runs as a table, one row each, that `width` columns hold.

    Ids, tags, times and outcomes are whole: where they leave no room for the names of models and
    backends, first the time is left out, then tags behind the first, then all tags.
    """
    apart = told_apart([row.backend for row in rows])
    shown = {
        "run": [row.id[:SHORT_ID] for row in rows],
        "made": [row.created[5:16].replace("T", " ") for row in rows],
        "model": [row.model for row in rows],
        "backend": list(apart.labels),
        "outcome": [outcome_word(row.outcome) for row in rows],
        "median ms": [_median(row) for row in rows],
        "tags": [" ".join(row.tags) for row in rows],
    }
    names = _width(shown, "model") + _width(shown, "backend")
    if _left(shown, width) < min(names, _NAMES_BESIDE_MADE):
        del shown["made"]
    least = min(names, _NAMES_BESIDE_TAGS)
    if _left(shown, width) < least:
        shown["tags"] = [_first_tags(row.tags, _LEAST_TAGS) for row in rows]
    if _left(shown, width) < least:
        del shown["tags"]
    left = _left(shown, width)
    model = _width(shown, "model")
    backend = min(_width(shown, "backend"), max(_LEAST_BACKEND, left * 2 // 5, left - model))
    shown["model"] = shorten_apart(shown["model"], max(_LEAST_BACKEND, left - backend))
    shown["backend"] = shorten_apart(shown["backend"], backend)
    cells = list(zip(*shown.values(), strict=True))
    whole = ("run", "made", "outcome", "tags")
    shape = table(list(shown), cells, right=("median ms",), whole=whole)
    return shown_text(shape) + (f"{apart.shared}\n" if apart.shared else "")


def _left(shown: dict[str, list[str]], width: int) -> int:
    """Return the columns that the others leave to models and backends."""
    others = (_width(shown, name) for name in shown if name not in ("model", "backend"))
    return width - sum(others) - _GAP * (len(shown) - 1)


def _width(shown: dict[str, list[str]], name: str) -> int:
    return max(len(name), *map(len, shown[name]))


def _first_tags(tags: Sequence[str], room: int) -> str:
    """Return as many whole tags as fit, and how many more there are."""
    for count in range(len(tags), 0, -1):
        more = [f"+{len(tags) - count}"] if count < len(tags) else []
        text = " ".join((*tags[:count], *more))
        if len(text) <= room:
            return text
    return f"+{len(tags)}" if tags else ""


def _median(row: RunRow) -> str:
    if row.median_ms is None:
        return ""
    return format_significant(row.median_ms, 4) + (" printed" if row.is_printed else "")
