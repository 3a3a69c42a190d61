import csv
import io

import pytest

from enginescope.core.record import replace
from enginescope.render.base.answer_tables import table_lines
from enginescope.render.base.data_table import (
    STATIC_ROWS,
    aligned_rows,
    column,
    csv_bytes,
    data_table,
    number_column,
    number_text,
    places_for,
)
from enginescope.render.base.figures import TextTable
from enginescope.render.base.text import on_screen
from enginescope.render.html.answer_page import Answer, written_page


def made(*columns):
    return data_table("t", "Things", ("thing", "things"), columns)


def test_cells_as_they_are_shown_without_columns_in_which_nothing_is_known() -> None:
    table = made(column("a", [1, None], 0), column("b", [None, None]))
    assert [one.title for one in table.columns] == ["a"]
    assert table.length == 2
    assert made(column("a", []), column("b", [])) is None
    assert made(column("a", [None])) is None
    assert made(column("a", [0, None], 0)) is not None
    assert made(column("a", [""])) is not None
    table = made(column("ms", [1234.5678, 0.0, None], 2), column("name", ["x", None, "z"]))
    assert table.static_rows() == [["1,234.57", "x"], ["0.00", ""], ["—", "z"]]
    table = made(column("ms", [17.04743, 0.0056451, -3.73e-9, 0.0, None], 4, digits=3))
    shown = [row[0] for row in table.static_rows()]
    assert shown == ["17.0474", "0.00565", "-0.00000000373", "0.0000", "—"]
    assert table.packed()["columns"][0]["digits"] == 3
    table = made(column("#", range(STATIC_ROWS + 5), 0))
    assert len(table.static_rows()) == STATIC_ROWS
    assert table.packed()["length"] == STATIC_ROWS + 5


def test_what_is_packed_of_numbers_links_and_texts_that_repeat() -> None:
    packed = made(column("ms", [0.123456789, None], 2)).packed()["columns"][0]
    assert packed == {"title": "ms", "places": 2, "values": (0.123456789, None)}
    one = column("Layer", ["a", "b"], leads_to="layers", rows_there=(7, None))
    packed = made(one).packed()["columns"][0]
    assert packed["leads_to"] == "layers"
    assert packed["rows_there"] == (7, None)
    assert aligned_rows([]) == []
    values = ["FP16", "INT8", None, "FP16", "FP16", "INT8", None, "FP16", "FP16"]
    packed = made(column("Precision", values, is_choice=True)).packed()["columns"][0]
    assert packed["is_choice"] is True
    assert [packed["words"][at] for at in packed["at"]] == values
    assert "values" not in packed
    packed = made(column("Layer", ["a", "b", "c"])).packed()["columns"][0]
    assert packed["values"] == ("a", "b", "c")
    assert "words" not in packed
    packed = made(column("Type", ["Conv", "Reformat"], is_choice=True)).packed()["columns"][0]
    assert packed["words"] == ["Conv", "Reformat"]


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (["0.01836", "0.005011", "—"], ["0.01836", "0.00501", "—"]),
        (["1,234", "72.3"], ["1,234", "72"]),
        # Too little would be left of the least.
        (["12.34", "0.001234"], ["12.34", "0.001234"]),
        (["+1.50", "−0.250"], ["+1.50", "−0.25"]),
        (["conv", "0.5"], ["conv", "0.5"]),
        (["0", "0.25"], ["0", "0.25"]),
    ],
)
def test_figures_of_a_column_have_one_number_of_decimals(column, wanted) -> None:
    rows = aligned_rows([("x", cell) for cell in column])
    assert [row[1] for row in rows] == wanted
    assert {row[0] for row in rows} == {"x"}


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


def test_one_number_of_decimals_for_all() -> None:
    assert number_column([12.345678, 0.0123, None]) == ["12.35", "0.01", "—"]
    assert number_column([0.0123, 0.00012]) == ["0.01230", "0.00012"]
    assert number_column([1234.5, -1.0]) == ["1,234", "−1"]
    assert number_column([]) == []
    assert number_column([None]) == ["—"]
    assert number_column([1.5, -1.5, 0.0], signed=True) == ["+1.500", "−1.500", "0.000"]
    for value in (-0.0, 0.0, -0.0004, 0.0004):  # what rounds to nothing has no sign
        assert number_text(value, 3, signed=True) == "0.000"
    for values, places in (([0.0], 0), ([1e-30], 9), ([99.0, None], 2)):
        assert places_for(values) == places


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def test_cells_keep_their_digits_words_and_line_ends_and_formulas_are_defused() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\tx"):
        assert read(csv_bytes(("a",), [(text,)]))[1] == [f"'{text}"]
    assert read(csv_bytes(("a", "b"), [("\rx", "1\r\n2")]))[1:] == [["'\nx", "1\n2"]]
    cells = ["a,b", 'say "x"', "two\nlines"]
    data = csv_bytes(("a", "b", "c"), [cells])
    assert read(data)[1] == cells
    assert b"\r" not in data
    assert read(csv_bytes(("a",), [("x\0y\ud800\x1e",)]))[1] == ["x␀y�\x1e"]
    row = read(csv_bytes(("a", "b", "c"), [(0.1 + 0.2, -1.5, 7)]))[1]
    assert [float(cell) for cell in row] == [0.1 + 0.2, -1.5, 7]
    assert row[0] == "0.30000000000000004"
    assert read(csv_bytes(("a", "b", "c"), [(None, True, False)]))[1] == ["", "true", "false"]
