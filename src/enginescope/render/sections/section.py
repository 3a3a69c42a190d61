"""What a section of the page is."""

from __future__ import annotations

from typing import Any

from enginescope.core.record import Record
from enginescope.render.base.data_table import DataTable
from enginescope.render.html.images import Chart


class Section(Record, frozen=True, kw_only=True):
    """A part of the page about one run.

    Attributes:
        key: Part of its anchor, and the name of its template: ``percentiles``.
        charts: In the order the template shows them.
        tables: Those that sort, filter and scroll.
        answer: The section in one line, beside its heading: ``2 layers, 3.5 % of the time``.
        empty: What to say instead, when there is nothing to show: what is missing and how to get
            it.
        facts: Whatever else the template shows.
    """

    key: str
    title: str
    answer: str | None = None
    charts: tuple[Chart, ...] = ()
    tables: tuple[DataTable, ...] = ()
    empty: str | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
