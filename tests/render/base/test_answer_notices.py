"""What page, Markdown and terminal show of an answer: notices, details and long names."""

from __future__ import annotations

import sys

from rich.console import Group

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import show_answer, stacked
from enginescope.render.base.text_table import as_text
from enginescope.render.html.answer_page import Answer, written_page

SAID = Notice(code="I-SAID", message="said", level="info")
NAMES = TextTable(
    title="Layers",
    headers=("layer", "error", "cosine"),
    rows=(("conv1", "0.1", "0.9"),),
    has_long_names=True,
    file_columns=("cosine",),
    note="alone",
)
ANSWERED = Answer(
    verb="verb",
    title="Verb",
    answer="yes",
    facts=(),
    tables=(NAMES, replace(NAMES, title="Layers of b", is_detail=True)),
    notices=(SAID, Notice(code="W-ONE", message="one"), SAID),
    report={},
)


def test_warnings_stand_first() -> None:
    page = written_page(ANSWERED).decode()
    for text in (page, answer_markdown(ANSWERED).decode()):
        assert text.index("W-ONE") < text.index("I-SAID")
    assert answer_markdown(replace(ANSWERED, tables=(), notices=())) == b"### enginescope: yes\n\n"


def test_details_are_folded_in_markdown_and_left_out_on_a_terminal(capsys) -> None:
    table, folded = answer_markdown(ANSWERED).decode().split("<details>")
    assert "| layer | error | cosine |" in table
    assert "\nalone\n" in table
    assert folded.startswith("<summary>Layers of b</summary>")
    show_answer(ANSWERED)
    assert capsys.readouterr().out.count("conv1") == 1


def test_a_terminal_has_names_last_and_fewer_columns() -> None:
    head, _, row, note, *_ = as_text(Group(*stacked([NAMES])), width=80).splitlines()
    assert (head.split(), row.split(), note) == (["error", "layer"], ["0.1", "conv1"], "alone")


def test_sections_of_a_page_have_anchors_of_their_own() -> None:
    three = replace(ANSWERED, tables=(NAMES, NAMES, NAMES), leads=False)
    page = written_page(three).decode()
    for anchor in ("layers", "layers-1", "layers-2"):
        assert page.count(f'<section id="{anchor}"') == 1


def test_a_terminal_breaks_a_long_answer_between_words(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    long = replace(ANSWERED, answer="keep one of four layers in FP32")
    show_answer(long)
    assert capsys.readouterr().out.startswith("keep one of four layers in FP32\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_answer(long)
    assert capsys.readouterr().out.startswith("keep one of four\nlayers in FP32\n")
