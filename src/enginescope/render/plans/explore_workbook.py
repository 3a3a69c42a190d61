"""A plan looked into, as an Excel workbook.

The workbook opens without running anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from io import BytesIO
from typing import Any, TypeAlias

from enginescope._version import __version__
from enginescope.analysis.claims.saving import Saving
from enginescope.analysis.layers.layer_table import TimeShare
from enginescope.analysis.layers.reformats import ReformatShare
from enginescope.analysis.plans.exploration import Exploration, ExploredLayer
from enginescope.core.errors import UsageError
from enginescope.core.optional import require
from enginescope.core.record import Record
from enginescope.judge.notice import Notice
from enginescope.render.base.facts import tensor_text
from enginescope.render.plans.explore_data import COLUMNS, explore_cells
from enginescope.rules.base import Finding

#: What a sheet holds at most, its header included.
MOST_ROWS = 1_048_576
#: Letters of a cell; beyond them a text is cut.
MOST_LETTERS = 32_767
_CUT = " … (cut at the most letters that a cell of Excel holds)"
#: Whole numbers beyond this lose digits in a cell, so they are text.
_EXACT = 2**53
#: Text that would become a formula as soon as somebody edits the cell.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Characters that XML cannot hold at all.
_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_NARROWEST, _WIDEST = 6, 60
#: Of every workbook, so that the same tables make the same file.
_CREATED = datetime(2000, 1, 1, tzinfo=timezone.utc)
#: How milliseconds and whole numbers look.
MS, WHOLE = "0.00000", "#,##0"
#: So many rows are looked at for the width of a column.
_LOOKED_AT = 500


class SheetColumn(Record, frozen=True, kw_only=True):
    """A column of a sheet.

    Attributes:
        header: With the unit.
        number_format: Excel's, for its numbers: ``0.0000``. The whole value stays in the cell.
    """

    header: str
    number_format: str | None = None


class Sheet(Record, frozen=True, kw_only=True):
    """A sheet with one table from its first cell on.

    Attributes:
        title: At most 31 letters.
        rows: Cells are text, numbers, truths, or ``None`` for an empty one.
        fixed_columns: So many stay in view when the rest is scrolled sideways.
    """

    title: str
    columns: tuple[SheetColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    fixed_columns: int = 0


def workbook_bytes(sheets: Sequence[Sheet], *, title: str) -> bytes:
    """Return an ``.xlsx`` file: header rows stay in view, tables can be filtered.

    On paper a table is as wide as a page, with its header on each.
    """
    writer = require("xlsxwriter", purpose="writing Excel files", install="enginescope[xlsx]")
    for sheet in sheets:
        if len(sheet.rows) >= MOST_ROWS:
            raise UsageError(
                f"sheet {sheet.title} has {len(sheet.rows):,} rows",
                why=f"a sheet of Excel holds {MOST_ROWS:,}",
                hint="--csv FILE has no limit",
            )
    stream = BytesIO()
    # nothing is guessed from a text: neither formulas nor links nor numbers
    book = writer.Workbook(
        stream,
        {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    properties = {"title": _text(title), "comments": f"enginescope {__version__}"}
    book.set_properties({**properties, "created": _CREATED})
    looks = _Looks(book)
    for sheet in sheets:
        _write(book.add_worksheet(sheet.title), sheet, looks)
    book.close()
    return stream.getvalue()


class _Looks:
    """Formats of cells, each made once."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._numbers: dict[str | None, Any] = {None: None}
        self.header = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        self.quoted = book.add_format({"quote_prefix": True})

    def number(self, number_format: str | None) -> Any:
        if number_format not in self._numbers:
            made = self._book.add_format({"num_format": number_format})
            self._numbers[number_format] = made
        return self._numbers[number_format]


def _write(page: Any, sheet: Sheet, looks: _Looks) -> None:
    for at, column in enumerate(sheet.columns):
        page.write_string(0, at, column.header, looks.header)
        page.set_column(at, at, _width(sheet, at))
    page.freeze_panes(1, sheet.fixed_columns)
    page.set_landscape()
    page.fit_to_pages(1, 0)  # as wide as a page, as long as it takes
    page.repeat_rows(0)
    if sheet.rows:
        page.autofilter(0, 0, len(sheet.rows), len(sheet.columns) - 1)
    formats = [looks.number(one.number_format) for one in sheet.columns]
    for number, row in enumerate(sheet.rows, start=1):
        for at, value in enumerate(row):
            _write_cell(page, (number, at), value, formats[at], looks)


def _write_cell(
    page: Any, place: tuple[int, int], value: Any, number_format: Any, looks: _Looks
) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    elif isinstance(value, (int, float)) and math.isfinite(value) and abs(value) <= _EXACT:
        page.write_number(*place, value, number_format)
    else:
        text = _text(str(value))
        quoted = looks.quoted if text.startswith(_FORMULA) else None
        page.write_string(*place, text, quoted)


def _text(text: str) -> str:
    text = _NO_XML.sub("\ufffd", text)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - len(_CUT)] + _CUT


def _width(sheet: Sheet, at: int) -> int:
    """Return a column's width in letters, by its header's longest word and its first cells."""
    words = sheet.columns[at].header.split()
    longest = max((len(word) + 2 for word in words), default=0)  # the filter's button
    shown = (_shown_letters(row[at]) for row in sheet.rows[:_LOOKED_AT])
    return min(_WIDEST, max(_NARROWEST, longest, *shown, 0) + 1)


def _shown_letters(value: Any) -> int:
    if value is None:
        return 0
    return 9 if isinstance(value, float) else len(str(value))


_PCT = "0.0"
#: Endings of our names -> the unit as it is written in a header, and how its numbers look.
_UNITS = {"_ms": ("ms", MS), "_pct": ("%", _PCT), "_bytes": ("bytes", WHOLE)}
_SHARE_COLUMNS = ("time_ms", "share_pct", "layers")
#: What made the plan or ran it, by what it is.
_MadeOn: TypeAlias = tuple[tuple[str, str | None], ...]


def explore_workbook(
    found: Exploration,
    layers: Sequence[ExploredLayer],
    *,
    device: str | None = None,
    tensorrt_version: str | None = None,
    notices: Sequence[Notice] = (),
    findings: Sequence[Finding] | None = None,
    more: Sequence[Sheet] = (),
) -> bytes:
    """Return the summary, every layer, and where the time goes, a sheet each.

    Args:
        layers: Its layers, in the order they are to have.
        tensorrt_version: That built the plan, or ran it.
        notices: Of reading the files; those of `found` follow.
        findings: ``None``: there is no plan to look for some in.
        more: What else was asked for, after these.
    """
    made_on = (("GPU", device), ("TensorRT", tensorrt_version))
    sheets = [_summary(found, made_on, notices), _layers(layers)]
    sheets += [
        _shares("By type", "type", found.by_type),
        _shares("By precision", "precision of the first input", found.by_precision),
        _tactics(found),
        _reformats(found),
        _shares("Reformats by origin", "origin", found.reformats_by_origin),
        _shares("Reformats by conversion", "from → to", found.reformats_by_conversion),
    ]
    if findings is not None:
        sheets.append(_findings(findings))
    return workbook_bytes([*sheets, *more], title=found.name)


def _column(name: str) -> SheetColumn:
    """Return the column for a field: ``time_ms`` is headed ``time, ms``."""
    if name == "arithmetic_intensity":
        return SheetColumn(header="arithmetic intensity, MAC/byte", number_format="0.00")
    for ending, (unit, number_format) in _UNITS.items():
        if name.endswith(ending):
            words = name.removesuffix(ending).replace("_", " ")
            return SheetColumn(header=f"{words}, {unit}", number_format=number_format)
    return SheetColumn(header=name.replace("_", " "), number_format=WHOLE)


def _columns(*names: str) -> tuple[SheetColumn, ...]:
    return tuple(_column(name) for name in names)


def _summary(found: Exploration, made_on: _MadeOn, notices: Sequence[Notice]) -> Sheet:
    facts = _facts(found, made_on)
    rows = [(what, value, unit) for what, value, unit in facts if value is not None]
    rows += [(one.code, one.message, None) for one in (*notices, *found.notices)]
    columns = (
        SheetColumn(header="what"),
        SheetColumn(header="value", number_format="#,##0.####"),
        SheetColumn(header="unit"),
    )
    return Sheet(title="Summary", columns=columns, rows=tuple(rows))


def _facts(found: Exploration, made_on: _MadeOn) -> Iterator[tuple[str, Any, str | None]]:
    yield "plan", found.name, None
    yield "form of the plan", found.plan_schema, None
    yield "optimization profile", found.plan_profile, None
    for what, name in made_on:
        yield what, name, None
    time, totals = found.time, found.totals
    if time is not None:
        yield f"sum of the layers' {time.statistic}s", time.sum_ms, "ms"
        yield f"whole request, {time.statistic}", time.whole_ms, "ms"
        yield "metric of the whole", time.whole_metric, None
        yield "sum ÷ whole", time.ratio, None
    yield "iterations of the profile", found.iterations, None
    if totals is not None:
        yield "layers", totals.layers, None
        yield "layers that launch work", totals.active_layers, None
        yield "weights", totals.weights_bytes, "bytes"
        yield "biases", totals.bias_bytes, "bytes"
        yield "activations read and written", totals.activation_bytes, "bytes"
        yield "the same with padding", totals.padded_activation_bytes, "bytes"
        yield "uses of tensors of unknown size", totals.unknown_tensors, None
    for what, tensors in (("input", found.inputs), ("output", found.outputs)):
        for tensor in tensors:
            yield what, tensor_text(tensor), None
    yield "written by", f"enginescope {__version__}", None


def _layers(layers: Sequence[ExploredLayer]) -> Sheet:
    rows = tuple(tuple(explore_cells(layer)) for layer in layers)
    return Sheet(title="Layers", columns=_columns(*COLUMNS), rows=rows, fixed_columns=2)


def _shares(title: str, key: str, shares: Sequence[TimeShare | ReformatShare]) -> Sheet:
    rows = tuple(
        (share.key or "not known", share.time_ms, share.share_pct, share.layers) for share in shares
    )
    return Sheet(title=title, columns=_columns(key, *_SHARE_COLUMNS), rows=rows)


def _tactics(found: Exploration) -> Sheet:
    columns = _columns("tactic, without hash", *_SHARE_COLUMNS, "names with hashes", "types")
    rows = tuple(
        (
            tactic.tactic or "none named",
            tactic.time_ms,
            tactic.share_pct,
            tactic.layers,
            tactic.variants,
            ", ".join(tactic.types),
        )
        for tactic in found.tactics
    )
    return Sheet(title="Tactics", columns=columns, rows=rows)


def _reformats(found: Exploration) -> Sheet:
    names = ("index", "name", "origin", "from", "to", "changes type", "changes layout", "time_ms")
    rows = tuple(
        (
            reformat.index,
            reformat.name,
            reformat.origin,
            reformat.source,
            reformat.target,
            reformat.changes_type,
            reformat.changes_layout,
            reformat.time_ms,
        )
        for reformat in found.reformats
    )
    return Sheet(title="Reformats", columns=_columns(*names), rows=rows, fixed_columns=2)


def _findings(findings: Sequence[Finding]) -> Sheet:
    names = ("code", "rule", "severity", "layer", "finding", "what to do")
    savings = Saving().fields()
    rows = tuple(
        (
            *finding.saving.fields().values(),
            finding.code,
            finding.rule,
            finding.severity.value,
            finding.subject,
            finding.message,
            finding.advice,
        )
        for finding in findings
    )
    return Sheet(title="Findings", columns=_columns(*savings, *names), rows=rows)
