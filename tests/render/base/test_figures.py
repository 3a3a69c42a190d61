"""A column where nothing is known is on no output: page, Markdown, terminal."""

from enginescope.core.record import replace
from enginescope.render.base.answer_tables import table_lines
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import on_screen
from enginescope.render.html.answer_page import Answer, written_page

TABLE = TextTable(
    title="Jobs",
    headers=("job", "ms", "why", "mark"),
    rows=(("a\nb", "—", "slow", ""), ("c", "—", "—", "")),
    numbers=("ms",),
    left_out=3,
)


def test_a_column_where_nothing_is_known_is_on_no_output() -> None:
    assert TABLE.known().headers == ("job", "why")
    assert on_screen(TABLE).headers == ("job", "why")
    assert table_lines(TABLE)[1] == "| job | why |"
    assert TABLE.known().rows == (("a\nb", "slow"), ("c", "—"))
    assert TextTable(title="None", headers=("job", "ms"), rows=()).known().headers == ("job", "ms")


def test_a_page_has_each_cell_on_one_line_and_lists_the_lines_of_the_cell_below() -> None:
    rows = (("a\nb", "4", "slow\n<hot>"), ("c", "5", "—"))
    table = replace(TABLE, headers=("job", "ms", "why"), rows=rows, below="why")
    answered = Answer(
        verb="gate", title="Gate", answer="failed", facts=(), report=None, tables=(table,)
    )
    page = " ".join(written_page(answered).decode().split())
    assert '<th scope="row">a; b</th>' in page
    assert '<td colspan="2"><ul><li>slow</li><li>&lt;hot&gt;</li></ul></td>' in page
    assert page.count('<tr class="below">') == 1
    assert ">why<" not in page
    assert TABLE.caption == "Jobs; 3 more below"
