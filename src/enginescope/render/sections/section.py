"""What a section of the page is."""

from __future__ import annotations

from typing import Any

from enginescope.core.record import Record
from enginescope.render.charts.spec import Chart
from enginescope.render.data_table import DataTable


class Section(Record, frozen=True, kw_only=True):
    """A part of the page about one run.

    Attributes
    ----------
    key : str
        Part of its anchor, and the name of its template: ``percentiles``.
    title : str
    charts : tuple of Chart
        In the order the template shows them.
    tables : tuple of DataTable
        Those that sort, filter and scroll.
    empty : str or None
        What to say instead, when there is nothing to show: what is missing and how to get it.
    facts : dict
        Whatever else the template shows.
    """

    key: str
    title: str
    charts: tuple[Chart, ...] = ()
    tables: tuple[DataTable, ...] = ()
    empty: str | None = None
    facts: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies empty defaults
