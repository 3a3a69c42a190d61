"""Reading back an .xlsx file: a zip of XML, read without the library that wrote it."""

import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

_NS = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class Cell:
    def __init__(self, kind: str | None, value: Any, style: int, *, is_formula: bool) -> None:
        self.kind, self.value, self.style, self.is_formula = kind, value, style, is_formula


def sheets(data: bytes) -> dict[str, list[list[Cell | None]]]:
    """Return every sheet's rows by its title, gaps as ``None``."""
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        assert book.testzip() is None
        names = [
            one.get("name")
            for one in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(_tag("sheet"))
        ]
        texts = _texts(book)
        return {
            name: _rows(ElementTree.fromstring(book.read(f"xl/worksheets/sheet{at}.xml")), texts)
            for at, name in enumerate(names, start=1)
        }


def part(data: bytes, name: str) -> ElementTree.Element:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        return ElementTree.fromstring(book.read(name))


def values(rows: list[list[Cell | None]]) -> list[list[Any]]:
    return [[cell.value if cell else None for cell in row] for row in rows]


def _tag(name: str) -> str:
    return f"{{{_NS['m']}}}{name}"


def _texts(book: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    root = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    found = ["".join(one.text or "" for one in item.iter(_tag("t"))) for item in root]
    return [_ESCAPED.sub(lambda match: chr(int(match[1], 16)), one) for one in found]


def _rows(sheet: ElementTree.Element, texts: list[str]) -> list[list[Cell | None]]:
    found = []
    for row in sheet.iter(_tag("row")):
        cells: list[Cell | None] = []
        for one in row:
            cells += [None] * (_column(one.get("r") or "") - len(cells))
            cells.append(_cell(one, texts))
        found.append(cells)
    return found


def _cell(one: ElementTree.Element, texts: list[str]) -> Cell:
    kind, raw = one.get("t"), one.findtext("m:v", None, _NS)
    value: Any = raw
    if kind == "s":
        value = texts[int(raw or "")]
    elif kind == "b":
        value = raw == "1"
    elif raw is not None:
        value = float(raw)
    return Cell(kind, value, int(one.get("s", "0")), is_formula=one.find("m:f", _NS) is not None)


def _column(place: str) -> int:
    number = 0
    for letter in place.rstrip("0123456789"):
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
