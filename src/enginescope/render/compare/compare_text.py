"""A comparison of plans on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.plan_comparison.comparison import Comparison
from enginescope.records.notice import Notice
from enginescope.render.base.number_column import number_column
from enginescope.render.base.phrases import shorten, shorten_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.plan_comparison.compare_phrases import (
    answer,
    cause_text,
    pairing_sentence,
    requests_sentence,
)
from enginescope.render.plan_comparison.compare_tables import (
    Chosen,
    CompareTable,
    facts_table,
    pair_tables,
    share_tables,
)

_GAP = 2
_LEAST_NAME = 12
_LEAST_FACT = 18
_NARROW = 72
#: From here on there is room for types and reasons beside the names of layers.
_WIDE = 120
#: Ends of headers of columns that narrow screens go without.
_SPARED = (" layers", "share %", "B − A ms")
#: Header -> most columns of texts that are not the last.
_SHORTENED = {"differs in": 24, "from → to": 34, "type": 28}


def compare_text(found: Comparison, chosen: Chosen, *, width: int = 80) -> RenderableType:
    """Return the answer, what weakens it, and the tables, for a rich console.

    Args:
        chosen: Layers and rows to show.
        width: Columns.
    """
    lines: list[RenderableType] = [*_titles(found, width), Text()]
    lines.append(Text(answer(found, chosen.threshold_pct), style="bold"))
    lines += [label_row(name, text) for name, text in _sentences(found)]
    lines += [Text(), *notice_lines(_worth_saying(found.notices))]
    if found.layers is not None:
        first, *others = pair_tables(found, chosen, wide=width >= _WIDE)
        lines += _fitted(first, width)
    else:
        others = []
    lines += _facts(facts_table(found.overview), width)
    for one in (*others, *share_tables(found, chosen.top)):
        lines += _fitted(one, width)
    return Group(*lines)


def _titles(found: Comparison, width: int) -> list[Text]:
    plans = found.overview.plans
    return [
        Text(f"{plan.label}  ", style="bold").append(shorten(_plain(plan.name), width - 3))
        for plan in plans
    ]


def _sentences(found: Comparison) -> list[tuple[str, str]]:
    layers, plans = found.layers, found.overview.plans
    requests = requests_sentence(plans)
    rows = [("requests", requests)] if requests else []
    if layers is None:
        return rows
    if layers.difference_ms and layers.explanations:
        most = layers.explanations[0]
        (difference,) = number_column([most.difference_ms], signed=True)
        each = " per iteration" if plans[0].batch != plans[1].batch else ""
        rows.append(("most of it", f"{cause_text(most)}, {difference} ms{each}"))
    rows.append(("paired", pairing_sentence(layers, plans)))
    return rows


def _worth_saying(notices: Sequence[Notice]) -> list[Notice]:
    """Warnings, and what is said of the comparison itself; the rest is in the JSON."""
    said = [
        notice for notice in notices if notice.level == "warning" or "plan" not in notice.evidence
    ]
    return sorted(said, key=lambda one: one.level != "warning")


def _facts(found: CompareTable, width: int) -> list[RenderableType]:
    """Set plans beside each other, as many as there is room for; the rest below."""
    label = max(len(row[0]) for row in found.rows) + _GAP
    plans = len(found.headers) - 1
    room = max(1, min(plans, (width - label) // (_LEAST_FACT + _GAP)))
    lines: list[RenderableType] = []
    for first in range(0, plans, room):
        columns = range(1 + first, 1 + min(first + room, plans))
        headers = (found.title, *(found.headers[at] for at in columns))
        rows = [(row[0], *(_plain(row[at]) for at in columns)) for row in found.rows]
        lines += [table(headers, rows), Text()]
    return lines


def _fitted(found: CompareTable, width: int) -> list[RenderableType]:
    """Return a table under its title; the last column takes the columns that are left.

    Where they are too few, those of `_SPARED` are left out, the first first.
    """
    columns = {
        header: shorten_apart([_plain(row[at]) for row in found.rows], _most(header, width))
        for at, header in enumerate(found.headers)
    }
    last = found.headers[-1]
    for ending in _SPARED:
        if _taken(columns) + _LEAST_NAME <= width:
            break
        columns = {name: cells for name, cells in columns.items() if not name.endswith(ending)}
    spare = max(_LEAST_NAME, width - _taken(columns) - 1)
    columns[last] = shorten_apart(columns[last], spare)
    lines: list[RenderableType] = [Text(found.title, style="bold")]
    if found.rows:
        cells = list(zip(*columns.values(), strict=True))
        right = [name for name in found.numbers if name in columns]
        lines.append(table(tuple(columns), cells, right=right))
    if found.note or not found.rows:
        lines.append(Text(found.note or "none", style="dim"))
    return [*lines, Text()]


def _most(header: str, width: int) -> int:
    """Columns of the screen for a text of this column."""
    most = _SHORTENED.get(header, width)
    return min(most, width // 4) if header == "differs in" and width < _NARROW else most


def _taken(columns: dict[str, list[str]]) -> int:
    """Columns of the screen that all but the last take."""
    widths = [max(map(len, (name, *cells))) + _GAP for name, cells in columns.items()]
    return sum(widths[:-1])


def _plain(text: str) -> str:
    """Return a name of the file's without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)
