"""A column where nothing is known is on no output: page, Markdown, terminal."""

from __future__ import annotations

from enginescope.render.base.answer_tables import table_lines
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import on_screen

TABLE = TextTable(
    title="Jobs",
    headers=("job", "ms", "why", "mark"),
    rows=(("a\nb", "—", "slow", ""), ("c", "—", "—", "")),
    numbers=("ms",),
    left_out=3,
)


def test_a_column_where_nothing_is_known_is_on_no_output() -> None:
    assert TABLE.on_page().headers == ("job", "why")
    assert on_screen(TABLE).headers == ("job", "why")
    assert table_lines(TABLE)[1] == "| job | why |"


def test_a_column_of_which_one_cell_is_known_stays() -> None:
    assert TABLE.known().rows == (("a\nb", "slow"), ("c", "—"))
    assert TextTable(title="None", headers=("job", "ms"), rows=()).known().headers == ("job", "ms")


def test_a_page_has_each_cell_on_one_line() -> None:
    assert TABLE.on_page().rows[0] == ("a; b", "slow")
    assert TABLE.caption == "Jobs; 3 more below"
