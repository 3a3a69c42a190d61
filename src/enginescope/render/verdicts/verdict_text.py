"""A comparison of measured sides on the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from enginescope.analysis.verdicts.measured_notices import measured_notices
from enginescope.analysis.verdicts.measured_sides import MeasuredComparison, MeasuredPair
from enginescope.render.base.facts import place_line
from enginescope.render.base.phrases import shorten_apart
from enginescope.render.base.shared_options import ToldApart, told_apart
from enginescope.render.base.text import label_row, notice_lines, table
from enginescope.render.verdicts.verdict_phrases import (
    across_hint,
    counts_text,
    headline_sentence,
    looks_text,
    rounds_hint,
    title_of,
    why_text,
)
from enginescope.render.verdicts.verdict_tables import pair_table, verdict_table

#: From here on there is room for the codes of the reasons.
_WIDE = 100
#: Below this width, the table has no column of intervals.
_NARROW = 76


def verdict_text(found: MeasuredComparison, *, width: int = 80) -> RenderableType:
    """Return the answer, its table, what would decide the rest, and what weakens it.

    Args:
        width: Columns.
    """
    lines: list[RenderableType] = [*_titles(found, width), Text()]
    for pair in found.pairs:
        lines += [Text(headline_sentence(pair), style="bold"), Text()]
        lines += [_table(pair, width), Text()]
        lines += [label_row(name, text) for name, text in _open(pair)]
    every = pair_table(found)
    if every is not None:
        lines += [Text(every.title, style="bold"), Text()]
        lines += [table(every.headers, every.rows, right=every.numbers), Text()]
    lines += [label_row("samples", " · ".join(_counts(found)))]
    looks = looks_text(found)
    lines += [label_row("looks", looks)] if looks else []
    return Group(*lines, Text(), *notice_lines(measured_notices(found)))


def next_steps(tag: str, *, width: int = 80, store: str | None = None) -> Text:
    """Return how to see the comparison again.

    Args:
        tag: Of its runs.
        store: Where they lie, if that must be said to the next command.
    """
    at = f" --store {shlex.quote(store)}" if store else ""
    again = f"enginescope compare{at} {tag}"
    line = f"  again: {again}"
    page = f"page: {again} --html compare.html"
    gap = " · " if len(line) + 3 + len(page) <= width else "\n  "
    return Text(f"{line}{gap}{page}", style="dim")


def _titles(found: MeasuredComparison, width: int) -> list[Text]:
    names = [_plain(one.name) for one in found.sides]
    room = width - 3
    is_wide = any(len(one) > room for one in names)
    apart = told_apart(names) if is_wide else ToldApart(labels=tuple(names))
    lines = [
        Text(f"{side.label}  ", style="bold").append(name)
        for side, name in zip(found.sides, shorten_apart(apart.labels, room), strict=True)
    ]
    lines += [Text(f"   {one}", style="dim") for one in wrap(apart.shared or "", room)]
    places = dict.fromkeys(place_line(run) for side in found.sides for run in side.runs)
    if len(places) == 1 and (place := next(iter(places))):
        lines.append(Text(f"   {place}", style="dim"))
    return lines


def _table(pair: MeasuredPair, width: int) -> RenderableType:
    made = verdict_table(pair, reasons=width >= _WIDE)
    kept = [
        at for at, name in enumerate(made.headers) if width >= _NARROW or not name.endswith("CI")
    ]
    rows = [tuple(row[at] for at in kept) for row in made.rows]
    return table(tuple(made.headers[at] for at in kept), rows, right=made.numbers)


def _open(pair: MeasuredPair) -> Iterator[tuple[str, str]]:
    """Yield why the headline is undecided, what would decide it, and what other rows lack."""
    why = why_text(pair.headline)
    if why is not None:
        yield "undecided", f"{why} ({pair.headline.reason.value})"
    hint = across_hint(pair) or rounds_hint(pair)
    if hint is not None:
        yield "next", hint
    for verdict in pair.verdicts[1:]:
        lack = why_text(verdict)
        if lack is not None:
            yield title_of(verdict.metric), lack


def _counts(found: MeasuredComparison) -> Iterator[str]:
    base, *others = found.sides
    yield counts_text(base, found.pairs[0], is_base=True)
    for side, pair in zip(others, found.pairs, strict=True):
        yield counts_text(side, pair, is_base=False)


def _plain(text: str) -> str:
    """Return a name without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)
