"""What a section of the page is."""

from typing import Any, TypeVar

from enginescope.core.record import Record, replace
from enginescope.render.base.data_table import DataTable
from enginescope.render.base.facts import Facts
from enginescope.render.base.figures import TextTable
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
    figures: tuple[TextTable, ...] = ()
    tables: tuple[DataTable, ...] = ()
    is_gallery: bool = False
    facts: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults


def known(*parts: T | None) -> tuple[T, ...]:
    """Return the parts that there are."""
    return tuple(part for part in parts if part is not None)


def capitalized(table: TextTable) -> TextTable:
    """Return a table of the terminal with capital headers; units and symbols stay as they are."""
    words = (name for name in table.headers if len(name.partition(" ")[0]) > 2)
    capital = {name: f"{name[:1].upper()}{name[1:]}" for name in words}
    both = (table.headers, table.numbers)
    headers, numbers = (tuple(capital.get(name, name) for name in names) for names in both)
    return replace(table, headers=headers, numbers=numbers)
