import pytest

from enginescope.core.errors import UsageError
from enginescope.render.base.data_table import DataTable, column
from enginescope.render.plans import explore_workbook
from enginescope.render.plans.explore_workbook import workbook_bytes
from tests.render.workbooks import part, sheets, values


def book(*rows: tuple, headers: tuple[str, ...] = ("name", "mean, ms")) -> bytes:
    pytest.importorskip("xlsxwriter")
    cells = list(zip(*rows, strict=True)) or [()] * len(headers)
    columns = (column(headers[0], cells[0]), column(headers[1], cells[1], 2))
    table = DataTable(key="x", caption="", noun=("layer", "layers"), columns=columns)
    return workbook_bytes({"Layers": table}, title="net")


def test_numbers_are_numbers_and_keep_their_digits() -> None:
    rows = sheets(book(("a", 0.1234567890123), ("b", 7), ("c", None), ("d", True)))["Layers"]
    header, *cells = values(rows)
    assert header == ["name", "mean, ms"]
    assert cells == [["a", 0.1234567890123], ["b", 7.0], ["c"], ["d", True]]
    assert [row[0].kind for row in rows] == ["s"] * 5
    assert rows[1][1].kind in (None, "n")
    assert rows[1][1].style == rows[2][1].style != 0


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_looks_like_a_formula_stays_text(sign) -> None:
    name = f'{sign}HYPERLINK("http://x.example","y")'
    made = book((name, 1.0), ("plain", 1.0))
    _, (cell, _), (plain, _) = sheets(made)["Layers"]
    assert (cell.kind, cell.value, cell.is_formula) == ("s", name, False)
    formats = part(made, "xl/styles.xml").find("{*}cellXfs")
    assert formats[cell.style].get("quotePrefix") == "1"  # editing it makes no formula either
    assert formats[plain.style].get("quotePrefix") is None


@pytest.mark.parametrize(
    "name", ["http://x.example/a", "mailto:a@b.c", "0123", "1e5", "internal:Sheet!A1", "{=1+1}"]
)
def test_nothing_is_guessed_from_a_text(name) -> None:
    (_, (cell, _)) = sheets(book((name, 1.0)))["Layers"]
    assert (cell.kind, cell.value, cell.is_formula) == ("s", name, False)


def test_header_and_names_stay_in_view_and_can_filter() -> None:
    sheet = part(book(("a" * 40, 1.0)), "xl/worksheets/sheet1.xml")
    pane = sheet.find(".//{*}pane")
    assert (pane.get("ySplit"), pane.get("state")) == ("1", "frozen")
    assert sheet.find(".//{*}autoFilter").get("ref") == "A1:B2"
    widths = [float(one.get("width") or 0) for one in sheet.findall(".//{*}col")]
    assert 40 < widths[0] < 50
    assert 6 < widths[1] < 20
    sheet = part(book(("a", 1.0)), "xl/worksheets/sheet1.xml")
    pane, setup = sheet.find(".//{*}pane"), sheet.find(".//{*}pageSetup")
    assert (pane.get("xSplit"), pane.get("ySplit")) == ("1", "1")
    assert (setup.get("orientation"), setup.get("fitToHeight")) == ("landscape", "0")


def test_texts_and_numbers_that_no_cell_holds() -> None:
    assert values(sheets(book())["Layers"]) == [["name", "mean, ms"]]
    (_, (cell, _)) = sheets(book(("x" * 40_000, 1.0)))["Layers"]
    assert len(cell.value) == explore_workbook.MOST_LETTERS
    assert cell.value.endswith("(cut at the most letters that a cell of Excel holds)")
    rows = sheets(book(("inf", float("inf")), ("nan", float("nan")), ("big", 2**60)))["Layers"]
    assert [row[1].value for row in rows[1:]] == ["inf", "nan", str(2**60)]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a\x1eb\x00", "a\x1eb\x00"),
        ("\ud800\uffff", "\ufffd\ufffd"),
        ("<script>&", "<script>&"),
        ("_x0041_", "_x0041_"),
    ],
)
def test_characters_that_xml_refuses(name, kept) -> None:
    (_, (cell, _)) = sheets(book((name, 1.0)))["Layers"]
    assert cell.value == kept


def test_more_rows_than_a_sheet_holds(monkeypatch) -> None:
    monkeypatch.setattr(explore_workbook, "MOST_ROWS", 3)
    assert book(("a", 1.0), ("b", 1.0))
    with pytest.raises(UsageError, match="has 3 rows: a sheet of Excel holds 3") as caught:
        book(("a", 1.0), ("b", 1.0), ("c", 1.0))
    assert "--csv" in (caught.value.hint or "")


def test_equal_tables_make_equal_files_whenever_they_are_made() -> None:
    made = book(("a", 1.0))
    assert part(made, "docProps/core.xml").find("{*}created").text == "2000-01-01T00:00:00Z"
    assert book(("a", 1.0)) == made


def test_bars_stand_behind_times_and_a_chart_beside_what_is_lost() -> None:
    made = book(("a", 2.0), ("b", 1.0), headers=("name", "Above floor ms"))
    sheet = part(made, "xl/worksheets/sheet1.xml")
    places = [one for one in sheet.iter() if one.tag.endswith("}conditionalFormatting")]
    assert {one.get("sqref") for one in places} - {None} == {"B2:B3"}
    chart = part(made, "xl/charts/chart1.xml")
    places = [one.text for one in chart.iter() if one.tag.endswith("}f")]
    assert places == ["Layers!$A$2:$A$3", "Layers!$B$2:$B$3"]
    with pytest.raises(KeyError):
        part(book(("a", 2.0)), "xl/charts/chart1.xml")
