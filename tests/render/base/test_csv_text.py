import csv
import io

import pytest

from enginescope.render.base.data_table import csv_bytes


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])
def test_text_that_looks_like_a_formula_is_defused(text) -> None:
    assert read(csv_bytes(("a",), [(text,)]))[1] == [f"'{text}"]


def test_line_ends_commas_and_quotes_survive() -> None:
    rows = read(csv_bytes(("a", "b"), [("\rx", "1\r\n2")]))
    assert rows[1:] == [["'\nx", "1\n2"]]
    cells = ["a,b", 'say "x"', "two\nlines"]
    data = csv_bytes(("a", "b", "c"), [cells])
    assert read(data)[1] == cells
    assert b"\r" not in data
    assert read(csv_bytes(("a",), [("x\0y\ud800\x1e",)]))[1] == ["x␀y�\x1e"]


def test_cells_keep_digits_signs_and_words() -> None:
    row = read(csv_bytes(("a", "b", "c"), [(0.1 + 0.2, -1.5, 7)]))[1]
    assert [float(cell) for cell in row] == [0.1 + 0.2, -1.5, 7]
    assert row[0] == "0.30000000000000004"
    assert read(csv_bytes(("a", "b", "c"), [(None, True, False)]))[1] == ["", "true", "false"]
