"""What a section of the page is."""

from __future__ import annotations

from typing import Any, TypeVar

from enginescope.core.record import Record, replace
from enginescope.render.base.data_table import DataTable
from enginescope.render.base.facts import Facts
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.html.images import Chart

T = TypeVar("T")


class Section(Record, frozen=True, kw_only=True):
    """A part of the page about one run; its fields are shown in their order.

    Attributes:
        key: Part of its anchor, and the name of its template, if it has one of its own.
        answer: The section in one line, beside its heading: ``2 layers, 3.5 % of the time``.
        empty: What to say instead, when there is nothing to show: what is missing and how to get
            it.
        sentences: The first one is the most important.
        notes: What qualifies the figures.
        tables: Those that sort, filter and scroll.
        is_gallery: Whether charts stand beside each other.
        facts: What only its own template shows.
    """

    key: str
    title: str
    answer: str | None = None
    empty: str | None = None
    sentences: tuple[str, ...] = ()
    pairs: Facts = ()
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    figures: tuple[Figures, ...] = ()
    tables: tuple[DataTable, ...] = ()
    is_gallery: bool = False
    facts: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults


def known(*parts: T | None) -> tuple[T, ...]:
    """Return the parts that there are."""
    return tuple(part for part in parts if part is not None)


def page_figures(table: TextTable) -> Figures:
    """Return a table of the terminal as the page sets it."""
    headers = tuple(map(_capital, table.headers))
    left_out = f"; {table.left_out:,} more below" if table.left_out else ""
    figures = table.figures()
    return replace(figures, headers=headers, caption=f"{figures.caption}{left_out}")


def _capital(header: str) -> str:
    """Return a header as it begins; units and symbols stay as they are."""
    is_word = len(header.partition(" ")[0]) > 2
    return f"{header[:1].upper()}{header[1:]}" if is_word else header
