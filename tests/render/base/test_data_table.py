"""Tables kept by columns."""

import pytest

from enginescope.render.base.data_table import STATIC_ROWS, aligned_rows, column, data_table


def made(*columns):
    return data_table("t", "Things", ("thing", "things"), columns)


def test_columns_in_which_nothing_is_known_are_left_out() -> None:
    table = made(column("a", [1, None], 0), column("b", [None, None]))
    assert [one.title for one in table.columns] == ["a"]
    assert table.length == 2
    assert made(column("a", []), column("b", [])) is None
    assert made(column("a", [None])) is None
    assert made(column("a", [0, None], 0)) is not None
    assert made(column("a", [""])) is not None


def test_cells_as_they_are_shown() -> None:
    table = made(column("ms", [1234.5678, 0.0, None], 2), column("name", ["x", None, "z"]))
    assert table.static_rows() == [["1,234.57", "x"], ["0.00", ""], ["—", "z"]]
    numbers = [17.04743, 0.0056451, -3.73e-9, 0.0, None]
    table = made(column("ms", numbers, 4, digits=3))
    shown = [row[0] for row in table.static_rows()]
    assert shown == ["17.0474", "0.00565", "-0.00000000373", "0.0000", "—"]
    assert table.packed()["columns"][0]["digits"] == 3
    table = made(column("#", range(STATIC_ROWS + 5), 0))
    assert len(table.static_rows()) == STATIC_ROWS
    assert table.packed()["length"] == STATIC_ROWS + 5


def test_numbers_and_links_are_packed() -> None:
    packed = made(column("ms", [0.123456789, None], 2)).packed()["columns"][0]
    assert packed == {"title": "ms", "places": 2, "values": (0.123456789, None)}
    one = column("Layer", ["a", "b"], leads_to="layers", rows_there=(7, None))
    packed = made(one).packed()["columns"][0]
    assert packed["leads_to"] == "layers"
    assert packed["rows_there"] == (7, None)


def test_texts_that_repeat_are_packed_as_words_and_their_places() -> None:
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


def test_a_table_without_rows_has_none() -> None:
    assert aligned_rows([]) == []
