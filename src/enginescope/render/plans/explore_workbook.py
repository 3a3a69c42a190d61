"""A plan looked into, as an Excel workbook, which opens without running anything."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from io import BytesIO
from typing import Any

from enginescope._version import __version__
from enginescope.analysis.plans.plan_view import Exploration, ExploredLayer
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.judge.notice import Notice
from enginescope.render.base.answer_tables import stated
from enginescope.render.base.data_table import DataColumn, DataTable, column, data_table
from enginescope.render.base.facts import Facts
from enginescope.render.plans import plan_tables
from enginescope.render.plans.build_text import build_tables
from enginescope.render.plans.explore_data import COLUMNS, explore_cells
from enginescope.render.plans.explore_text import summary_rows
from enginescope.render.plans.findings import finding_table
from enginescope.render.plans.plan_headline import PageSubject

#: What a sheet holds at most, its header included.
MOST_ROWS = 1_048_576
#: Letters of a cell; beyond them a text is cut.
MOST_LETTERS = 32_767
_ABOVE = "Above floor ms"


def workbook_bytes(sheets: Mapping[str, DataTable], *, title: str) -> bytes:
    """Return an ``.xlsx`` file: header rows stay in view, tables can be filtered.

    Bars stand behind times. On paper a table is as wide as a page, with its header on each.

    Args:
        sheets: By title, of at most 31 letters.
    """
    writer = require("xlsxwriter", purpose="writing Excel files", install="enginescope[xlsx]")
    for name, table in sheets.items():
        if table.length >= MOST_ROWS:
            why = f"a sheet of Excel holds {MOST_ROWS:,}"
            hint = "--csv FILE has no limit"
            raise UsageError(f"sheet {name} has {table.length:,} rows", why=why, hint=hint)
    stream = BytesIO()
    # nothing is guessed from a text: neither formulas nor links nor numbers
    guesses = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    book = writer.Workbook(stream, dict.fromkeys(guesses, False))
    created = datetime(2000, 1, 1, tzinfo=timezone.utc)  # so that equal tables make equal files
    about = {"title": _text(title), "comments": f"enginescope {__version__}", "created": created}
    book.set_properties(about)
    looks = _Looks(book)
    for name, table in sheets.items():
        page = book.add_worksheet(name)
        _write(page, table, looks)
        _draw(book, page, name, table)
    book.close()
    return stream.getvalue()


class _Looks:
    def __init__(self, book: Any) -> None:
        self._book = book
        self._numbers: dict[int | None, Any] = {None: None}
        self.header = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        self.quoted = book.add_format({"quote_prefix": True})

    def number(self, places: int | None) -> Any:
        if places not in self._numbers:
            decimals = f".{'0' * places}" if places else ""
            self._numbers[places] = self._book.add_format({"num_format": f"#,##0{decimals}"})
        return self._numbers[places]


def _write(page: Any, table: DataTable, looks: _Looks) -> None:
    last = max(1, table.length)
    bar = {"type": "data_bar", "bar_solid": True, "bar_color": "#9ECAE1", "min_type": "num"}
    for at, one in enumerate(table.columns):
        page.write_string(0, at, one.title, looks.header)
        page.set_column(at, at, _width(one))
        if one.title.endswith(("ms", "µs")):
            page.conditional_format(1, at, last, at, bar)
        number_format = looks.number(one.places)
        for number, value in enumerate(one.values, start=1):
            _write_cell(page, (number, at), value, number_format, looks)
    names = (at for at, one in enumerate(table.columns, start=1) if one.places is None)
    page.freeze_panes(1, next(names, 0))
    page.set_landscape()
    page.fit_to_pages(1, 0)  # as wide as a page, as long as it takes
    page.repeat_rows(0)
    if table.length:
        page.autofilter(0, 0, table.length, len(table.columns) - 1)


def _draw(book: Any, page: Any, name: str, table: DataTable) -> None:
    """Draw the time above the floor of the layers that lose most, beside their table."""
    columns = {one.title: (at, one.values) for at, one in enumerate(table.columns)}
    if _ABOVE not in columns:
        return
    at, lost = columns[_ABOVE]
    _, partial = columns.get(plan_tables.PARTIAL, (0, (None,) * table.length))
    last = min(20, sum(bool(ms) and not part for ms, part in zip(lost, partial, strict=True)))
    if not last:
        return
    chart = book.add_chart({"type": "bar"})
    places = {"categories": [name, 1, 0, last, 0], "values": [name, 1, at, last, at]}
    chart.add_series({**places, "data_labels": {"value": True, "num_format": "0.0000"}})
    chart.set_title({"name": f"{_ABOVE.removesuffix(' ms')}, ms, of {last} layers"})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    chart.set_size({"width": 900, "height": 80 + 24 * last})
    page.insert_chart(1, len(columns) + 1, chart)


def _write_cell(
    page: Any, place: tuple[int, int], value: Any, number_format: Any, looks: _Looks
) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    # whole numbers beyond lose digits in a cell, so they are text
    elif isinstance(value, (int, float)) and math.isfinite(value) and abs(value) <= 2**53:
        page.write_number(*place, value, number_format)
    else:
        text = _text(str(value))
        # text that would become a formula as soon as somebody edits the cell
        is_formula = text.startswith(("=", "+", "-", "@", "\t", "\r"))
        page.write_string(*place, text, looks.quoted if is_formula else None)


def _text(text: str) -> str:
    text = re.sub("[\ud800-\udfff\ufffe\uffff]", "\ufffd", text)  # XML cannot hold them
    cut = " … (cut at the most letters that a cell of Excel holds)"
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - len(cut)] + cut


def _width(one: DataColumn) -> int:
    """Return a column's width in letters, by its header's longest word and its first 500 cells."""
    longest = max((len(word) + 2 for word in one.title.split()), default=0)  # filter's button
    known = (value for value in one.values[:500] if value is not None)
    shown = (9 if isinstance(value, float) else len(str(value)) for value in known)
    return min(60, max(6, longest, *shown, 0) + 1)


def explore_workbook(
    found: Exploration,
    layers: Sequence[ExploredLayer],
    subject: PageSubject,
    *,
    device: str | None = None,
    tensorrt_version: str | None = None,
    notices: Sequence[Notice] = (),
) -> bytes:
    """Return the summary, every layer, and the tables of the page, a sheet each.

    Args:
        layers: Its layers, in the order they are to have.
        subject: The same plan, with what was given beside it.
        tensorrt_version: That built the plan, or ran it.
        notices: Of reading the files; those of `found` follow.
    """
    made_on = stated(("GPU", device), ("TensorRT", tensorrt_version))
    view, report, rows = subject.plan, subject.findings, subject.row_of_layer
    roofs = view.roofline.layers if view and view.roofline else ()
    order = sorted(roofs, key=lambda one: (one.is_partial, -(one.excess_ms or 0.0)))
    build = build_tables(subject.story) if subject.story else ()
    cells = zip(*explore_cells(layers), strict=True)
    fields = [_column(name, values) for name, values in zip(COLUMNS, cells, strict=False)]
    sheets = {
        "Summary": _summary(found, made_on, notices),
        "Layers": data_table(plan_tables.LAYERS, "Layers", plan_tables.LAYER, fields),
        "By type": plan_tables.share_table("By type", "Type", found.by_type),
        "By precision": plan_tables.share_table("By precision", "Precision", found.by_precision),
        "Tactics": plan_tables.tactic_table(found.tactics),
        "Reformats": plan_tables.reformat_table(found.reformats, rows),
        "Reformats by origin": plan_tables.origin_table(found.reformats_by_origin),
        "Reformats by conversion": plan_tables.conversion_table(found.reformats_by_conversion),
        "Findings": finding_table(report.findings, rows) if report else None,
        "Limits": plan_tables.limit_table(view, order) if view else None,
        "ONNX nodes": plan_tables.node_table(view, rows) if view else None,
        **{table.caption: table for table in build if table},
    }
    known = {title: table for title, table in sheets.items() if table is not None}
    return workbook_bytes(known, title=found.name)


def _summary(found: Exploration, made_on: Facts, notices: Sequence[Notice]) -> DataTable | None:
    rows = (
        ("name", found.name),
        *made_on,
        *summary_rows(found),
        ("written by", f"enginescope {__version__}"),
        *((one.code, one.message) for one in (*notices, *found.notices)),
    )
    names, texts = zip(*rows, strict=True)
    columns = (column("what", names), column("value", texts))
    return data_table("summary", "Summary", ("fact", "facts"), columns)


def _column(name: str, values: Sequence[Any]) -> DataColumn:
    """Return the column of a field: ``time_ms`` is headed ``time, ms``."""
    if name == "arithmetic_intensity":
        return column("arithmetic intensity, MAC/byte", values, 2)
    units = {"_ms": ("ms", 5), "_pct": ("%", 1), "_bytes": ("bytes", 0)}
    for ending, (unit, places) in units.items():
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ")
            return column(f"{words}, {unit}", values, places)
    is_text = any(isinstance(value, str) for value in values)
    return column(name.replace("_", " "), values, None if is_text else 0)
