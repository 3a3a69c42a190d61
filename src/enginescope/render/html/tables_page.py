"""An answer with its tables as one HTML file that needs no network and reads without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence

from enginescope.render.base.answer_tables import AnswerTables, page_figures
from enginescope.render.html.page_frame import PageData, page_bytes


def tables_page(
    verb: str,
    result: AnswerTables,
    data: bytes,
    *,
    title: str,
    sentences: Sequence[str] = (),
    script_address: str | None = None,
) -> bytes:
    """Return the page: the answer with the first table, then a section for each other one.

    Args:
        data: The JSON document that the page carries.
        sentences: Headers of columns that are broken as sentences.
        script_address: See `page_bytes`.
    """
    first, *others = result.tables
    return page_bytes(
        "answer.html.j2",
        PageData(charts={}, files={f"{verb}.json": data.decode()}),
        script_address=script_address,
        what=verb,
        chart=None,
        title=title,
        answer=f"{result.answer[:1].upper()}{result.answer[1:]}",
        facts=result.facts,
        notices=result.notices,
        overview=page_figures(first, sentences),
        sections=[
            (one.title, one.title.split()[0].lower(), page_figures(one, sentences))
            for one in others
        ],
        left_out=[],
    )
