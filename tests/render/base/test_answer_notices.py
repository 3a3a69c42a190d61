"""Notices of an answer: warnings stand first, on the page and in Markdown."""

from __future__ import annotations

from enginescope.judge.notice import Notice
from enginescope.render.base.answer_tables import AnswerTables, answer_markdown, notice_items
from enginescope.render.html.answer_page import answer_page

SAID = Notice(code="I-SAID", message="said", level="info")
ANSWERED = AnswerTables(
    answer="yes", facts=(), notices=(SAID, Notice(code="W-ONE", message="one"), SAID)
)


def test_warnings_stand_first() -> None:
    page = answer_page("verb", ANSWERED, {}, title="Verb").decode()
    for text in (page, answer_markdown(ANSWERED).decode()):
        assert text.index("W-ONE") < text.index("I-SAID")
    assert notice_items(()) == []
