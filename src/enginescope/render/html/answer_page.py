"""An answer as one HTML file without network or needed JavaScript, and as a picture for a slide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from enginescope.core.record import Record, replace
from enginescope.judge.notice import Notice
from enginescope.records.notice import weightiest
from enginescope.render.base.answer_tables import AnswerTables, answer_json
from enginescope.render.base.data_table import csv_bytes
from enginescope.render.base.figures import TextTable
from enginescope.render.base.palette import document, letters, line, words
from enginescope.render.html.images import Chart, Panels, svg_png, svg_text
from enginescope.render.html.page_frame import PageData, charts_data, page_bytes


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
        is_table_first: Whether that table stands above the charts.
        fails: Whether it is a failure.
        charts: Above the sections of a page.
        command: A command line at the end of a page.
        files: What a page carries; ``None``: the JSON document, and the CSV.
        left_out: What a page says of files that it does not carry.
        steps: Next steps of a page: purpose and command line.
    """

    verb: str
    title: str
    report: Any
    data: Mapping[str, Any] = {}
    document: bytes | None = None
    csv: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None
    begins_with_name: bool = False
    leads: bool = True
    is_table_first: bool = False
    fails: bool = False
    parts: tuple[Part, ...] = ()
    charts: tuple[Chart | None, ...] = ()
    command: str | None = None
    files: Mapping[str, bytes] | None = None
    left_out: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()


def every_chart(answered: Answer | Part) -> Iterator[Chart]:
    """Yield the charts of an answer's page: its own, then those of its parts."""
    yield from (chart for chart in answered.charts if chart is not None)
    for part in answered.parts:
        yield from every_chart(part)


def written_json(answered: Answer) -> bytes:
    """Return the answer and the whole report as strict JSON."""
    if answered.document is not None:
        return answered.document
    return answer_json(schema=1, answer=answered.answer, **answered.data, report=answered.report)


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
    answer, files = answered.answer, answered.files
    is_name = answered.begins_with_name or answer[1:2].isdigit()  # p99
    if files is None:
        files = {f"{answered.verb}.json": written_json(answered)}
        files |= {f"{answered.verb}.csv": written_csv(answered)} if answered.csv else {}
    return page_bytes(
        template,
        PageData(
            charts=charts_data(every_chart(answered)),
            files={name: data.decode() for name, data in files.items()},
            more=dict(more or {}),
        ),
        parts=parts,
        script_address=script_address,
        what=answered.verb,
        title=answered.title,
        answer=answer if is_name else f"{answer[:1].upper()}{answer[1:]}",
        facts=(*answered.facts, *answered.more_facts),
        answered=answered,
        charts=[chart for chart in answered.charts if chart is not None],
        overview=next(iter(answered.tables), None) if answered.leads else None,
        sections=[*_sections(answered.tables)][answered.leads :],
        left_out=answered.left_out,
        **content,
    )


def _sections(tables: Sequence[TextTable]) -> Iterator[tuple[str, str, TextTable]]:
    """Yield title, anchor and table; an anchor is the first word of the title."""
    anchors: set[str] = set()
    for number, table in enumerate(tables):
        word = table.title.split()[0].lower()
        anchor = f"{word}-{number}" if word in anchors else word
        anchors.add(anchor)
        yield table.title, anchor, replace(table, title=table.note or table.title, note=None)


_WIDTH, _HEIGHT, _MARGIN = 1600, 900, 64
_TEXT, _SMALL = 24, 19
#: Most lines below the answer, and of the conditions.
_LINES = 3


class Slide(Record, frozen=True, kw_only=True):
    """What one picture says.

    Attributes:
        answer: One sentence.
        lines: What qualifies it.
        chart: ``None``: there is nothing to draw.
        conditions: Machine, versions, counts.
        notices: The weightiest warning is shown.
    """

    answer: str
    lines: tuple[str, ...] = ()
    chart: Chart | None = None
    conditions: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def slide_png(slide: Slide) -> bytes:
    """Return the picture: the answer, the chart, and the conditions below it."""
    y, size, told = float(_MARGIN), 0, [""]
    for size, most in ((44, 2), (36, 3), (28, 4)):  # the largest size that has room
        told = _wrapped(slide.answer, size)
        if len(told) <= most:
            break
    parts: list[str] = []
    for text in told:
        y += size if not parts else 1.2 * size
        parts.append(words(_MARGIN, y, text, size=size, is_bold=True))
    for text in [text for each in slide.lines for text in _wrapped(each, _TEXT)][:_LINES]:
        y += 1.5 * _TEXT
        parts.append(words(_MARGIN, y, text, size=_TEXT, is_soft=True))
    first = (f"! {notice.message} ({notice.code})" for notice in weightiest(slide.notices)[:1])
    remarks = (*first, " · ".join(slide.conditions))
    bottom = [text for each in remarks for text in _wrapped(each, _SMALL)][:_LINES]
    end = _HEIGHT - _MARGIN - 1.5 * _SMALL * len(bottom)
    if slide.chart is not None:
        parts.append(_placed(slide.chart, y + 28, end - 24))
    parts.append(line(_MARGIN, end - 6, _WIDTH - _MARGIN, end - 6))
    for at, text in enumerate(bottom, 1):
        parts.append(words(_MARGIN, end + 1.5 * _SMALL * at, text, size=_SMALL, is_soft=True))
    corner = (_WIDTH - _MARGIN, _HEIGHT - _MARGIN / 2)
    parts.append(words(*corner, "enginescope", size=_SMALL, is_soft=True, anchor="end"))
    return svg_png(document(_WIDTH, _HEIGHT, parts), 1.0)


def _wrapped(text: str, size: int) -> list[str]:
    return wrap(text, letters(_WIDTH - 2 * _MARGIN, size)) or []


def _placed(chart: Chart, top: float, bottom: float) -> str:
    drawn = svg_text(replace(chart, height=max(chart.height, 330)))
    found = re.search(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"', drawn)
    assert found is not None
    inner = drawn[drawn.index("<svg") :].replace(found[0], "<svg", 1)
    box = f'viewBox="0 0 {found[1]} {found[2]}"' if "viewBox" not in inner[:400] else ""
    wide, tall_px = _WIDTH - 2 * _MARGIN, f"{bottom - top:.0f}"
    place = f'x="{_MARGIN}" y="{top:.0f}" width="{wide}" height="{tall_px}"'
    return inner.replace("<svg", f'<svg {place} {box} preserveAspectRatio="xMidYMid meet"', 1)
