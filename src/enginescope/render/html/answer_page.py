"""An answer as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from enginescope.core.record import Record, replace
from enginescope.render.base.answer_tables import (
    AnswerTables,
    answer_json,
    answer_markdown,
    page_figures,
)
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.figures import Figures, TextTable
from enginescope.render.html.images import Chart
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes

#: Version of the shape of a verb's JSON document.
SCHEMA = 1


class PageSection(Record, frozen=True, kw_only=True):
    """A section below the answer.

    Attributes:
        command: A command line below the figures.
        is_folded: Whether a reader opens it.
    """

    title: str
    anchor: str
    figures: tuple[Figures, ...]
    facts: tuple[tuple[str, str], ...] = ()
    command: str | None = None
    is_folded: bool = False


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


class Answer(AnswerTables, frozen=True, kw_only=True, eq=False):
    """An answer with all that its files hold.

    Attributes:
        verb: Names the files that a page carries.
        title: Of the page.
        report: Whole in the JSON document.
        data: Further fields of the JSON document.
        document: The JSON document, where it is not of `report` and `data`.
        csv: Headers and rows; ``None``: the verb writes no CSV.
        brief_tables: In place of `tables` on a terminal and in Markdown.
        leads: Whether the first table belongs to the answer.
        sentences: Headers of columns that a page breaks as sentences.
        charts: Above the first table of a page.
        command: A command line below the last table of a page.
    """

    verb: str
    title: str
    report: Any
    data: Mapping[str, Any] = {}
    document: bytes | None = None
    csv: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    brief_tables: tuple[TextTable, ...] = ()
    leads: bool = True
    sentences: tuple[str, ...] = ()
    charts: tuple[Chart | None, ...] = ()
    command: str | None = None


def written_json(answered: Answer) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    if answered.document is not None:
        return answered.document
    return answer_json(SCHEMA, answer=answered.answer, **answered.data, report=answered.report)


def written_csv(answered: Answer) -> bytes:
    """Return the rows of an answer that has some, with figures as numbers."""
    assert answered.csv is not None
    return csv_bytes(*answered.csv)


def written_markdown(answered: Answer) -> bytes:
    """Return the answer, what it is about, the tables with their notes, and the notices."""
    return answer_markdown(replace(answered, tables=answered.brief_tables or answered.tables))


def written_page(answered: Answer) -> bytes:
    """Return the page: the answer with its charts, then a section for each table."""
    files = {f"{answered.verb}.json": written_json(answered)}
    if answered.csv is not None:
        files[f"{answered.verb}.csv"] = written_csv(answered)
    figures = [page_figures(part, answered.sentences) for part in answered.tables]
    sections = [
        table_section(part, replace(figure, caption=part.note or part.title))
        for part, figure in zip(answered.tables, figures, strict=True)
    ]
    if answered.command:
        sections[-1] = replace(sections[-1], command=answered.command)
    return answer_page(
        answered.verb,
        answered,
        files,
        title=answered.title,
        charts=[chart for chart in answered.charts if chart is not None],
        overview=figures[0] if answered.leads and figures else None,
        sections=sections[1:] if answered.leads else sections,
    )


def table_section(part: TextTable, figures: Figures) -> PageSection:
    """Return a section that has the title of a table; its anchor is the first word."""
    anchor = part.title.split()[0].lower()
    return PageSection(
        title=part.title, anchor=anchor, figures=(figures,), is_folded=part.is_folded
    )
