"""The outputs of a verb's answer, as functions of its report."""

from collections.abc import Callable
from typing import Any

from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.html.answer_page import Answer, written_csv, written_json, written_page


def outputs(answer: Callable[[Any], Answer]) -> tuple[Callable[[Any], bytes], ...]:
    """Return what gives JSON, Markdown, a page and CSV of a report."""

    def of(writer: Callable[[Answer], bytes]) -> Callable[[Any], bytes]:
        return lambda report: writer(answer(report))

    return of(written_json), of(answer_markdown), of(written_page), of(written_csv)


def phrases(answer: Callable[[Any], Answer]) -> tuple[Callable[[Any], str], Callable[[Any], Any]]:
    """Return what gives the answer, and the facts, of a report."""
    return (lambda report: answer(report).answer), (lambda report: answer(report).facts)
