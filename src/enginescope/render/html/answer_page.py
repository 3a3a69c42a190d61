"""An answer as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from enginescope.core.record import Record
from enginescope.render.base.answer_tables import AnswerTables, page_figures
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes


class PageSection(Record, frozen=True, kw_only=True):
    """A section below the answer.

    Attributes:
        command: A command line below the figures.
    """

    title: str
    anchor: str
    figures: tuple[Figures, ...]
    facts: tuple[tuple[str, str], ...] = ()
    command: str | None = None


def answer_page(
    what: str,
    answered: AnswerTables,
    files: Mapping[str, bytes],
    *,
    title: str,
    skip: str = "result",
    charts: Sequence[Chart] = (),
    overview: Figures | None = None,
    sections: Sequence[PageSection] = (),
) -> bytes:
    """Return the page: the answer with charts and a table, then the sections.

    Args:
        what: Shown beside the name of enginescope.
        answered: Its tables are not shown.
        files: Contents that the page carries, by name.
        skip: What the first link leads to.
        overview: The table that belongs to the answer.
    """
    answer = answered.answer
    is_percentile = answer[1:2].isdigit()  # p99
    return page_bytes(
        "answer.html.j2",
        PageData(
            charts=charts_data(charts),
            files={name: content.decode() for name, content in files.items()},
        ),
        what=what,
        skip=skip,
        title=title,
        answer=answer if is_percentile else f"{answer[:1].upper()}{answer[1:]}",
        facts=answered.facts,
        notices=answered.notices,
        charts=charts,
        overview=overview,
        sections=sections,
        left_out=[],
    )


def tables_page(
    verb: str,
    answered: AnswerTables,
    data: bytes,
    *,
    title: str,
    chart: Chart | None = None,
    sentences: Sequence[str] = (),
) -> bytes:
    """Return the page: the answer with the first table, then a section for each other one.

    Args:
        data: The JSON document that the page carries.
        chart: Above the first table.
        sentences: Headers of columns that are broken as sentences.
    """
    first, *others = answered.tables
    return answer_page(
        verb,
        answered,
        {f"{verb}.json": data},
        title=title,
        charts=[chart] if chart is not None else [],
        overview=page_figures(first, sentences),
        sections=[table_section(part, page_figures(part, sentences)) for part in others],
    )


def table_section(part: TextTable, figures: Figures) -> PageSection:
    """Return a section that has the title of a table; its anchor is the first word."""
    anchor = part.title.split()[0].lower()
    return PageSection(title=part.title, anchor=anchor, figures=(figures,))
