"""An answer as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enginescope.core.record import replace
from enginescope.render.base.answer_tables import AnswerTables, answer_json
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.figures import TextTable
from enginescope.render.html.images import Chart, Panels
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes

#: Version of the shape of a verb's JSON document.
SCHEMA = 1


class Part(AnswerTables, frozen=True, kw_only=True, eq=False):
    """What an answer says of a part of it.

    Attributes:
        key: Its anchor on a page; no other's.
        title: In the page's index.
        charts: Wide ones above its tables, others below.
        panels: Above its charts.
    """

    key: str
    title: str = ""
    parts: tuple[Part, ...] = ()
    charts: tuple[Chart, ...] = ()
    panels: tuple[Panels, ...] = ()

    @property
    def every_chart(self) -> Iterator[Chart]:
        """Its own, then those of its parts."""
        yield from self.charts
        for part in self.parts:
            yield from part.every_chart


class Answer(AnswerTables, frozen=True, kw_only=True, eq=False):
    """An answer with all that its files hold.

    Attributes:
        verb: Names the files that a page carries.
        title: Of the page.
        report: Whole in the JSON document.
        data: Further fields of the JSON document.
        document: The JSON document, where it is not of `report` and `data`.
        csv: Headers and rows; ``None``: the verb writes no CSV.
        begins_with_name: Whether the answer begins with a name, which keeps its letters.
        leads: Whether the first table belongs to the answer.
        charts: Above the first table of a page.
        command: A command line at the end of a page.
        files: What a page carries; ``None``: the JSON document, and the CSV.
        left_out: What a page says of files that it does not carry.
    """

    verb: str
    title: str
    report: Any
    data: Mapping[str, Any] = {}
    document: bytes | None = None
    csv: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    begins_with_name: bool = False
    leads: bool = True
    parts: tuple[Part, ...] = ()
    charts: tuple[Chart | None, ...] = ()
    command: str | None = None
    files: Mapping[str, bytes] | None = None
    left_out: tuple[str, ...] = ()


def written_json(answered: Answer) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    if answered.document is not None:
        return answered.document
    return answer_json(SCHEMA, answer=answered.answer, **answered.data, report=answered.report)


def written_csv(answered: Answer) -> bytes:
    """Return the rows of an answer that has some, with figures as numbers."""
    assert answered.csv is not None
    return csv_bytes(*answered.csv)


def written_page(
    answered: Answer,
    template: str = "answer.html.j2",
    *,
    more: Mapping[str, Any] | None = None,
    parts: Sequence[str] = (),
    script_address: str | None = None,
    **content: Any,
) -> bytes:
    """Return the page: the answer with its charts, then a section for each table and part.

    Args:
        template: A template that extends that of all answers.
        more: Data for the page's own script.
        parts, script_address, content: As for `page_bytes`.
    """
    charts = [chart for chart in answered.charts if chart is not None]
    drawn = [*charts, *(chart for part in answered.parts for chart in part.every_chart)]
    answer = answered.answer
    is_name = answered.begins_with_name or answer[1:2].isdigit()  # p99
    return page_bytes(
        template,
        PageData(
            charts=charts_data(drawn),
            files={name: content.decode() for name, content in _files(answered).items()},
            more=dict(more or {}),
        ),
        parts=parts,
        script_address=script_address,
        what=answered.verb,
        title=answered.title,
        answer=answer if is_name else f"{answer[:1].upper()}{answer[1:]}",
        facts=(*answered.facts, *answered.more_facts),
        notices=answered.notices,
        charts=charts,
        overview=next(iter(answered.tables), None) if answered.leads else None,
        sections=[*_sections(answered.tables)][answered.leads :],
        about=answered.parts,
        command=answered.command,
        left_out=answered.left_out,
        **content,
    )


def _files(answered: Answer) -> Mapping[str, bytes]:
    if answered.files is not None:
        return answered.files
    files = {f"{answered.verb}.json": written_json(answered)}
    return files | ({f"{answered.verb}.csv": written_csv(answered)} if answered.csv else {})


def _sections(tables: Sequence[TextTable]) -> Iterator[tuple[str, str, TextTable]]:
    """Yield title, anchor and table; an anchor is the first word of the title."""
    anchors: set[str] = set()
    for number, table in enumerate(tables):
        word = table.title.split()[0].lower()
        anchor = f"{word}-{number}" if word in anchors else word
        anchors.add(anchor)
        yield table.title, anchor, replace(table, title=table.note or table.title, note=None)
