import sys

from rich.console import Group

from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.render.base.answer_tables import answer_markdown
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import answer_lines, show_answer, stacked
from enginescope.render.base.text_table import as_text
from enginescope.render.html.answer_page import Answer, Part, written_page

SAID = Notice(code="I-SAID", message="said", level="info")
NAMES = TextTable(
    title="Layers",
    headers=("layer", "error", "cosine"),
    rows=(("conv1", "0.1", "0.9"),),
    has_long_names=True,
    spared=("cosine",),
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


def test_warnings_stand_first_and_details_are_folded(capsys) -> None:
    for text in (written_page(ANSWERED).decode(), answer_markdown(ANSWERED).decode()):
        assert text.index("W-ONE") < text.index("I-SAID")
    assert answer_markdown(replace(ANSWERED, tables=(), notices=())) == b"### enginescope: yes\n"
    table, folded = answer_markdown(ANSWERED).decode().split("<details>")
    assert "| layer | error | cosine |" in table
    assert "\nalone\n" in table
    assert folded.startswith("<summary>Layers of b</summary>")
    show_answer(ANSWERED)
    assert capsys.readouterr().out.count("conv1") == 1


def test_a_narrow_terminal_shortens_names_and_leaves_columns_out_or_divides_a_table() -> None:
    wide = as_text(Group(*stacked([NAMES], 80)), width=80).splitlines()[0]
    assert wide.split() == ["error", "cosine", "layer"]
    head, _, row, note, *_ = as_text(Group(*stacked([NAMES], 16)), width=80).splitlines()
    assert (head.split(), row.split(), note) == (["error", "layer"], ["0.1", "conv1"], "alone")
    for width, headers in (
        (80, ["tensor", "error", "own", "peak"]),
        (44, ["tensor", "error", "peak"]),
        (30, ["tensor", "error"]),
    ):
        lines = as_text(Group(*stacked([WIDE], width)), width=width).splitlines()
        assert lines[0].split() == headers
        assert max(map(len, lines)) <= width
        assert "…" in lines[2] or width == 80
        assert lines[2].split()[1] == "0.00029"
    table = replace(WIDE, spared=(), is_divided=True)
    lines = as_text(Group(*stacked([table], 36)), width=36).splitlines()
    heads = [line.split() for line in lines if line.startswith("tensor")]
    assert heads == [["tensor", "error"], ["tensor", "own"], ["tensor", "peak"]] or heads == [
        ["tensor", "error", "own"],
        ["tensor", "peak"],
    ]
    assert max(map(len, lines)) <= 36
    assert as_text(Group(*stacked([table], 120)), width=120).count("tensor") == 1


def test_sections_of_a_page_have_anchors_of_their_own() -> None:
    page = written_page(replace(ANSWERED, tables=(NAMES, NAMES, NAMES), leads=False)).decode()
    for anchor in ("layers", "layers-1", "layers-2"):
        assert page.count(f'<section id="{anchor}"') == 1


INNER = Part(key="start", label="starts at", answer="conv1", facts=(("why", "overflow"),))
SIDE = Part(
    key="side-1",
    title="B",
    answer="B fails",
    facts=(("limits", "fp16"),),
    tables=(NAMES, replace(NAMES, title="More", is_detail=True)),
    parts=(INNER,),
)


def test_parts_are_on_page_markdown_and_terminal() -> None:
    answered = replace(ANSWERED, parts=(SIDE,), more_facts=(("formula", "a ÷ b"),))
    markdown = answer_markdown(answered).decode()
    assert "\n#### B fails\n\n- limits: fp16\n" in markdown
    assert "\n##### Starts at: conv1\n\n- why: overflow\n" in markdown
    page = written_page(answered).decode()
    assert '<a href="#side-1">B</a>' in page
    assert page.index('<section id="side-1"') < page.index("<h3>Starts at: conv1</h3>")
    assert "<details><summary>More</summary>" in page
    shown = as_text(Group(*answer_lines(answered, 80)), width=80)
    assert shown.index("B fails") < shown.index("  starts at  conv1\n  why        overflow\n")
    assert shown.count("\n0.1    0.9     conv1\nalone\n") == 2  # details are left out
    for text in (markdown, page, shown):
        assert "formula" in text
    assert "formula" not in as_text(Group(*answer_lines(answered, 80, is_whole=False)), width=80)


WIDE = TextTable(
    title="Errors",
    headers=("tensor", "error", "own", "peak"),
    rows=(("/".join(["block"] * 12), "0.00029", "0.0001", "501,490"), ("x", "1", "2", "3")),
    numbers=("error", "own", "peak"),
    shortened={"tensor": 0},
    spared=("own", "peak"),
)


def test_a_terminal_breaks_a_long_answer_between_words(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    long = replace(ANSWERED, answer="keep one of four layers in FP32")
    show_answer(long)
    assert capsys.readouterr().out.startswith("keep one of four layers in FP32\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_answer(long)
    assert capsys.readouterr().out.startswith("keep one of four\nlayers in FP32\n")
